// SPDX-License-Identifier: Apache-2.0
// Exchanges in which some ranks have no data, and the MPI calls that they make.
// empty_exchanges_over_mpi_test.py starts it.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>

#include "collectives/transport/messages/mpi.hpp"

namespace {
long empty_calls = 0;
}

// Replace the MPI library's functions, with the names that tutti calls.
extern "C" int PMPI_Iallgather(const void* input, int count, MPI_Datatype type, void* output,
                               int of_each, MPI_Datatype output_type, MPI_Comm comm,
                               MPI_Request* request) {
    empty_calls += count == 0;
    static const auto next =
        reinterpret_cast<decltype(&PMPI_Iallgather)>(dlsym(RTLD_NEXT, "PMPI_Iallgather"));
    return next(input, count, type, output, of_each, output_type, comm, request);
}

extern "C" int PMPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                           MPI_Request* request) {
    empty_calls += count == 0;
    static const auto next =
        reinterpret_cast<decltype(&PMPI_Ibcast)>(dlsym(RTLD_NEXT, "PMPI_Ibcast"));
    return next(buffer, count, type, root, comm, request);
}

namespace {

using namespace tutti;

void exchange_nothing(World& world) {
    gather_all_texts(world, "");
    world.broadcast({});
}

}  // namespace

int main() {
    try {
        MpiSession session;
        World& world = session.world();
        exchange_nothing(world);
        long calls = 0;
        for (const long of_rank : gather_all(world, empty_calls)) calls += of_rank;
        if (world.is_first())
            std::printf("%d processes, %ld calls without bytes\n", world.size(), calls);
        return calls == 0 && !world.one_process() ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
