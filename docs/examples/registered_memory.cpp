// SPDX-License-Identifier: Apache-2.0
// Compares the times of a sum in the program's own memory and in registered memory, which the ranks
// of a host read and write in place.
//   mpirun -n 2 registered_memory [ELEMENTS]
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <vector>

namespace {

constexpr int calls = 100;

// Returns the mean time of a call in µs, without the first calls, which make the plan.
double time_of(tutti::Communicator& ranks, std::span<const float> input, std::span<float> output) {
    for (int warm_up = 0; warm_up < 10; ++warm_up) ranks.all_reduce(input, output);
    const double began = MPI_Wtime();
    for (int call = 0; call < calls; ++call) ranks.all_reduce(input, output);
    return (MPI_Wtime() - began) / calls * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int result = 1;
    try {
        const std::size_t elements = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 65'536;
        auto ranks = tutti::Communicator::over_mpi(MPI_Comm_c2f(MPI_COMM_WORLD));

        const std::vector<float> input(elements, 1.0f);
        std::vector<float> sums(elements);
        const double unregistered = time_of(ranks, input, sums);

        // All ranks allocate in the same order, and use the same places in each call.
        const std::span<float> shared_input = ranks.allocate<float>(elements);
        const std::span<float> shared_sums = ranks.allocate<float>(elements);
        std::ranges::copy(input, shared_input.begin());
        const double registered = time_of(ranks, shared_input, shared_sums);

        result = std::ranges::equal(sums, shared_sums) ? 0 : 2;
        ranks.release(shared_sums);  // the communicator's end would do it, too
        ranks.release(shared_input);
        if (ranks.rank().index == 0)
            std::printf(
                "%zu floats among %d ranks: unregistered %.1f us, registered %.1f us, sums %s\n",
                elements, ranks.size(), unregistered, registered, result == 0 ? "agree" : "DIFFER");
    } catch (const tutti::Error& error) {
        std::fprintf(stderr, "registered_memory: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
    MPI_Finalize();
    return result;
}
