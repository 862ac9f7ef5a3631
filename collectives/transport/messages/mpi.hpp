// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Why this build has no MPI, and how to get it; nothing if it has.
std::optional<std::string> mpi_missing();

/// Why MPI cannot do anything for these ranks, and how to get such as it can; nothing if it can.
inline std::optional<std::string> ranks_are_not_of_mpi(const World& world) {
    if (world.kind() == "mpi") return std::nullopt;
    return world.kind() == "threads" ? "ranks are threads; start with mpirun"
                                     : "ranks have met by a rendezvous; start with mpirun instead";
}

/// Starts MPI and ends it; the ranks are those of the launcher. Make one, before any thread.
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

/// The ranks of a communicator of the program's own, by its Fortran handle (MPI_Comm_c2f; in a
/// build for MPI's standard ABI MPI_Comm_toint), so that no header of ours needs mpi.h. Works on a
/// duplicate. Collective over the communicator. Throws Error if MPI does not run, or if another
/// rank does not come within so many seconds (as many as worlds have if not given), which is the
/// world's hang_timeout from then on. Ends before MPI does; where a program lets it live longer, it
/// cannot be used any more, and leaves what it holds to MPI_Finalize.
std::unique_ptr<World> mpi_world(int number, std::optional<double> hang_timeout = {});

/// The ranks of the program's communicator. Makes no duplicate of it, because that could block
/// while an MPI_Comm_idup of the program is outstanding. The world's calls are blocking MPI
/// collectives on this communicator. Make them only while all ranks are in the same collective call
/// of the program on it. The world sends no messages and cannot be split. It must end before the
/// communicator is freed.
std::unique_ptr<World> world_on_programs_communicator(int number, double hang_timeout);

/// That number of the communicator of exactly this world's ranks. Throws Error unless its
/// kind is "mpi".
int mpi_handle(const World& world);

/// MPI's point-to-point messages (MPI_Isend, MPI_Irecv) on a communicator of its own.
std::unique_ptr<MessageTransport> mpi_transport(World& world);

/// "Open MPI 4.1.4" as the library names itself, on one line.
std::string mpi_library();

}  // namespace tutti
