// SPDX-License-Identifier: Apache-2.0
// Ranks of an MPI program in communicators over all of them, over halves of them and over each
// alone: our algorithms over MPI's messages and in shared memory, and the MPI library's own
// collectives, in changing buffers and with calls under way. over_mpi_test.py starts it.
#include <mpi.h>

#include <cstdio>

#include "autotune/rank_setting.hpp"
#include "caller.hpp"
#include "collectives/transport/mpi.hpp"

namespace {

using namespace tutti;

// For calls in ordinary memory: by size the library, a forced algorithm of it, messages of MPI.
Table mixed(int handle) {
    const auto world = mpi_world(handle);
    const Setting setting = setting_of(*world);
    Table table;
    for (const Collective collective : all_collectives())
        table.sections.push_back(
            {setting,
             {collective, reduces(collective) ? TypeClass::native : TypeClass::bytes,
              reduces(collective) ? OpClass::plain : OpClass::none, BufferKind::ordinary},
             {{Bytes{0}, {.impl = "mpi"}},
              {Bytes{1000}, {.impl = "mpi", .algorithm = "linear"}},
              {Bytes{3000}, {.algorithm = "linear", .transport = "mpi"}},
              {Bytes{50'000}, {.algorithm = "ring", .transport = "shm"}}}});
    return table;
}

std::int64_t wrong_elements(MPI_Comm comm, bool learns) {
    const int handle = MPI_Comm_c2f(comm);
    CommunicatorOptions options{.table = mixed(handle), .most_plans = 40};
    if (learns) options.learn.emplace();
    auto communicator = Communicator::over_mpi(handle, options);
    const int me = communicator.rank().index;
    test::Caller caller(communicator, me);
    std::mt19937 same(11), own(static_cast<unsigned>(me));
    for (int i = 0; i < 300; ++i) {
        const Call call{.collective = all_collectives()[same() % 8],
                        .root = Rank{static_cast<int>(same() % 2) % communicator.size()},
                        .count = std::array{50, 500, 5000, 20'000}[same() % 4]};
        if (same() % 3 != 0)
            caller.call(call);
        else
            caller.start(call);
        while (caller.under_way() > 6 || (caller.under_way() > 0 && own() % 4 == 0))
            caller.wait_for(own() % caller.under_way());
    }
    while (caller.under_way() > 0) caller.wait_for(0);
    return caller.wrong();
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);  // in the opposite order
    try {
        long long wrong = 0;
        for (const MPI_Comm comm : {MPI_COMM_WORLD, half, MPI_COMM_SELF})
            for (const bool learns : {false, true}) wrong += wrong_elements(comm, learns);
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) std::printf("%lld elements are wrong\n", wrong);
    } catch (const Error& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
}
