// SPDX-License-Identifier: Apache-2.0
// Whether a library's collective looks slower or faster in tutti than it is: the median of the
// sweep's loop over that of a bare loop around the same MPI call, on the same buffers, in turns in
// one launch. 1 is right.
//   scripts/lib/mpi.sh 2 build/bare_loop_bench [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "results/statistics/statistics.hpp"
#include "tests/workloads/bare_mpi_call.hpp"
#include "workloads/bench/sweep.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

constexpr std::int64_t sizes[] = {8, 4096, 1 << 20};
constexpr std::int64_t rows_of_block = 30;

// The median of rows of calls, in ns a call; a row runs from the first arrival to the last end.
double bare_median(const Call& call, const CallBuffers& buffers, std::int64_t calls_of_row) {
    std::vector<double> rows;
    for (std::int64_t row = 0; row < rows_of_block; ++row) {
        MPI_Barrier(MPI_COMM_WORLD);
        std::int64_t times[] = {-now_ns(), 0};
        for (std::int64_t i = 0; i < calls_of_row; ++i) test::bare_mpi_call(call, buffers);
        times[1] = now_ns();
        MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        rows.push_back(static_cast<double>(times[0] + times[1]) /
                       static_cast<double>(calls_of_row));
    }
    return median(rows);
}

void compare(Planner& planner, Collective collective, std::int64_t bytes, int rounds) {
    World& world = planner.world();
    const Call call{.collective = collective, .count = std::max<std::int64_t>(bytes / 4, 1)};
    BufferPool pool(world, BufferPool::bytes_for(call, world.size(), false),
                    std::vector{BufferKind::registered});
    const PooledBuffers buffers = pool.buffers_for(call, false, BufferKind::registered);
    const auto operation =
        operation_of(planner, candidate_of(collective, {.impl = "mpi"}), call, buffers, {});
    std::int64_t calls_of_row = 0;
    const auto median_in_tutti = [&] {
        std::vector<Trial> trials{{.operation = operation.operation.get()}};
        const Measured measured =
            measure(world, trials,
                    {.sync = Protocol::Sync::back_to_back, .fixed_samples = rows_of_block})[0];
        calls_of_row = measured.calls_of_sample;
        return static_cast<double>(median(measured.samples));
    };
    median_in_tutti();
    std::vector<double> ratios, bare_times;
    for (int round = 0; round < rounds; ++round) {
        const bool is_first = round % 2 == 0;
        const double before = is_first ? median_in_tutti() : 0;
        bare_times.push_back(bare_median(call, buffers.call, calls_of_row));
        ratios.push_back((is_first ? before : median_in_tutti()) / bare_times.back());
    }
    if (!world.is_first()) return;
    std::ranges::sort(ratios);
    const std::size_t last = ratios.size() - 1;
    fmt::print("{:<15} {:>8} {:>10.2f} {:>7.3f}  {:.3f} .. {:.3f}\n", name_of(collective), bytes,
               median(bare_times) / 1000, median(ratios), ratios[last / 4],
               ratios[last - last / 4]);
    std::fflush(stdout);
}

void compare_all(World& world, int rounds) {
    if (world.is_first())
        fmt::print("# {}, {} ranks, {} rounds\n# {:<13} {:>8} {:>10} {:>7}  {}\n", mpi_library(),
                   world.size(), rounds, "collective", "bytes", "bare (us)", "ratio",
                   "middle half");
    Planner planner(world);
    for (const Collective collective : all_collectives())
        for (const std::int64_t bytes : sizes) compare(planner, collective, bytes, rounds);
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
    if (rounds < 1) {
        fmt::print(stderr, "bare_loop_bench: type a number of rounds from 1 on\n");
        return 64;
    }
    tutti::MpiSession session;
    tutti::compare_all(session.world(), rounds);
}
