// SPDX-License-Identifier: Apache-2.0
// Runs ranks as threads of one process: collectives without MPI and without a launcher, for example
// in unit tests.
//   ranks_as_threads [RANKS]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <tutti/world.hpp>
#include <vector>

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 4;
    constexpr double deadline = 30;  // seconds that a rank waits for another
    std::atomic<int> right = 0;
    try {
        if (count < 1) throw tutti::Error("usage: ranks_as_threads [RANKS], with 1 rank or more");
        tutti::run_as_threads(count, deadline, [&](tutti::World& world) {
            tutti::Communicator ranks(world);
            const int rank = ranks.rank().index;

            // All ranks get the number of each rank ...
            std::vector<int> numbers(static_cast<std::size_t>(count));
            ranks.all_gather(std::span(&rank, 1), numbers);
            // ... and the last rank gets their sum.
            int sum = rank;
            ranks.reduce(std::span(&sum, 1), tutti::Op::sum, tutti::Rank{count - 1});

            std::vector<int> expected(numbers.size());
            std::iota(expected.begin(), expected.end(), 0);
            const bool is_last = rank == count - 1;
            if (numbers == expected && (!is_last || sum == count * (count - 1) / 2)) ++right;
        });
    } catch (const tutti::Error& error) {
        std::fprintf(stderr, "ranks_as_threads: %s\n", error.what());
        return static_cast<int>(error.code());
    }
    std::printf("%d of %d ranks right\n", right.load(), count);
    return right == count ? 0 : 2;
}
