// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "collectives/world/world.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// How processes that were not started by MPI find each other to form a World, and which rank this
/// process is.
struct Rendezvous {
    std::string address;   ///< "tcp://HOST:PORT": rank 0 listens there, the others connect
    int rank = 0;          ///< rank of this process, 0 .. size - 1
    int size = 1;          ///< number of processes
    std::string job = {};  ///< an id that differs between jobs; may be empty
    double deadline = 30;  ///< seconds until all processes must have joined
    /// On rank 0: a TCP socket that already listens; it is taken over and replaces the address's
    /// port. This way the system may choose the port before the other ranks learn it. -1: none.
    int listening_socket = -1;
};

/// Reads the rendezvous from the environment: torchrun's RANK, WORLD_SIZE, MASTER_ADDR and
/// MASTER_PORT, or srun's SLURM_PROCID, SLURM_NTASKS, the first host of SLURM_JOB_NODELIST and a
/// port derived from SLURM_JOB_ID. Throws Error that names a missing variable.
Rendezvous rendezvous_from_environment();

/// Makes a World of kind "processes": its ranks exchange setup data over TCP through rank 0, and
/// share memory on each host. Returns when all have joined. Throws Error: Exit::usage for an
/// invalid address or rank, and with rank 0's reason if it refuses this process; Exit::time_out
/// after the deadline, naming the ranks that did not join.
std::unique_ptr<World> rendezvous_world(const Rendezvous& rendezvous);

}  // namespace tutti
#pragma GCC visibility pop
