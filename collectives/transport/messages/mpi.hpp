// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/transport/endpoint.hpp"
#include "topology/detect/network_devices.hpp"

namespace tutti {

/// Returns why this build has no MPI, and how to get it; nothing if it has.
std::optional<std::string> mpi_missing();

/// Returns why MPI cannot be used by these ranks, and how to start ranks that can; nothing if it
/// can.
inline std::optional<std::string> ranks_are_not_of_mpi(const World& world) {
    if (world.kind() == "mpi") return std::nullopt;
    return world.kind() == "threads"
               ? "ranks are threads; start with mpirun"
               : "ranks were joined by a rendezvous; start with mpirun instead";
}

/// Initializes and finalizes MPI; the ranks are those of the launcher. Make one, before any thread.
class MpiSession {
public:
    MpiSession();
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    World& world() { return *world_; }

private:
    std::unique_ptr<World> world_;
};

/// Makes a world of the ranks of the program's communicator, given by its Fortran handle
/// (MPI_Comm_c2f; in a build for MPI's standard ABI MPI_Comm_toint), so that headers do not need
/// mpi.h. Works on a duplicate. Collective over the communicator. Throws Error if MPI is not
/// initialized, or if another rank does not join within `hang_timeout` seconds (default: that of
/// worlds), which then is the world's hang_timeout. Should end before MPI does; if it lives longer,
/// it cannot be used any more, and leaves its resources to MPI_Finalize.
std::unique_ptr<World> mpi_world(int number, std::optional<double> hang_timeout = {});

/// Makes a world of the ranks of the program's communicator without a duplicate, because that could
/// block while an MPI_Comm_idup of the program is outstanding. The world's calls are blocking MPI
/// collectives on this communicator. Make them only while all ranks are in the same collective call
/// of the program on it. A part of it, and its transports of messages, have communicators of their
/// own. It must end before the communicator is freed.
std::unique_ptr<World> world_on_programs_communicator(int number, double hang_timeout);

/// Returns the handle (see mpi_world) of the communicator of exactly this world's ranks. Throws
/// Error unless its kind is "mpi".
int mpi_handle(const World& world);

/// Uses MPI's point-to-point messages (MPI_Isend, MPI_Irecv) on a communicator of its own.
std::unique_ptr<MessageTransport> mpi_transport(World& world);

/// Returns the network interfaces of this host among which Open MPI divides long messages over TCP
/// (pml/ob1 with btl/tcp). Returns none with other libraries, or if a variable OMPI_MCA_* chooses
/// interfaces, links, the eager limit, a BTL or a PML. Does not read Open MPI's parameter files.
std::vector<NetworkDevice> cards_used_by_mpi();

/// Returns the library's name and version on one line, e.g. "Open MPI 4.1.4".
std::string mpi_library();

/// Returns the path of the file from which the library was loaded.
std::string file_of_mpi_library();

}  // namespace tutti
