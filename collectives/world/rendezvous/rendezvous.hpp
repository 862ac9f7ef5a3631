// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "collectives/world/world.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Where processes that no MPI has started meet to be the ranks of a World, and which of them this
/// one is.
struct Rendezvous {
    std::string address;   ///< "tcp://HOST:PORT": rank 0 listens there, the others connect
    int rank = 0;          ///< of this process, 0 .. size - 1
    int size = 1;          ///< how many processes
    std::string job = {};  ///< an id that processes of other jobs do not have; may be empty
    double deadline = 30;  ///< seconds until all must have come
    /// On rank 0: a TCP socket that listens already and is taken over, in place of the address's
    /// port; so a port may be chosen by the system and then told to the others. -1: none.
    int listening_socket = -1;
};

/// What the environment says: torchrun's RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or of srun
/// SLURM_PROCID, SLURM_NTASKS, the first host of SLURM_JOB_NODELIST and a port that follows from
/// SLURM_JOB_ID. Throws Error that names the variable that is missing.
Rendezvous rendezvous_from_environment();

/// The ranks of a rendezvous as a World of kind "processes": they exchange facts over TCP, by way
/// of rank 0, and share memory on each host. Returns when all have come. Throws Error: Exit::usage
/// for an address or a rank that cannot be, and where rank 0 refuses this process, which says why;
/// Exit::time_out after the deadline, naming the ranks that did not come.
std::unique_ptr<World> rendezvous_world(const Rendezvous& rendezvous);

}  // namespace tutti
#pragma GCC visibility pop
