// SPDX-License-Identifier: Apache-2.0
// Makes a small all-gather, and one whose blocks are below 1 GiB each but above it together.
// preload_test.py runs it.
#include <algorithm>

#include "preload_program.hpp"

namespace {

constexpr int a_mib = 1 << 20;

void gather_in_place(const Job& job, int mib) {
    const std::size_t block = std::size_t{a_mib} * static_cast<std::size_t>(mib);
    std::vector<signed char> all(block * static_cast<std::size_t>(job.size));
    const auto of_rank = [&](int rank) {
        return all.begin() + static_cast<std::ptrdiff_t>(block) * rank;
    };
    std::fill_n(of_rank(job.rank), block, static_cast<signed char>(job.rank + 1));
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_SIGNED_CHAR, all.data(), mib * a_mib, MPI_SIGNED_CHAR,
                  job.comm);
    for (int rank = 0; rank < job.size; ++rank)
        EXPECT(std::count(of_rank(rank), of_rank(rank) + static_cast<std::ptrdiff_t>(block),
                          rank + 1) == static_cast<std::ptrdiff_t>(block));
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Job job(MPI_COMM_WORLD);
    gather_in_place(job, 1);
    gather_in_place(job, 520);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
