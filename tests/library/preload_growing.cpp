// SPDX-License-Identifier: Apache-2.0
// Calls MPI_Alltoallv with small blocks many times, then with larger ones less often, and a barrier
// after each call, as benchmarks do. Arguments: the numbers of both. preload_test.py runs it.
#include <algorithm>
#include <cstdlib>

#include "preload_program.hpp"

namespace {

void exchange(const Job& job, int bytes, int calls) {
    const auto ranks = static_cast<std::size_t>(job.size);
    const std::vector<int> counts(ranks, bytes);
    std::vector<int> places(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) places[rank] = static_cast<int>(rank) * bytes;
    const std::vector<char> mine(ranks * static_cast<std::size_t>(bytes),
                                 static_cast<char>(job.rank));
    std::vector<char> all(mine.size());
    for (int call = 0; call < calls; ++call) {
        MPI_Alltoallv(mine.data(), counts.data(), places.data(), MPI_BYTE, all.data(),
                      counts.data(), places.data(), MPI_BYTE, job.comm);
        MPI_Barrier(job.comm);
    }
    for (int rank = 0; calls > 0 && rank < job.size; ++rank)
        EXPECT(std::count(all.begin(), all.end(), static_cast<char>(rank)) == bytes);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Job job(MPI_COMM_WORLD);
    exchange(job, 1024, argc > 1 ? std::atoi(argv[1]) : 0);
    exchange(job, 8192, argc > 2 ? std::atoi(argv[2]) : 0);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
