// SPDX-License-Identifier: Apache-2.0
// Duplicates a communicator, uses the copy for 80 all-reduces and frees it, many times. Prints the
// time of a round. preload_test.py runs it.
//   preload_duplicates ROUNDS
#include <cstdlib>
#include <fstream>
#include <string>

#include "preload_program.hpp"

namespace {

long mappings() {
    std::ifstream maps("/proc/self/maps");
    long lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return lines;
}

void do_round() {
    constexpr int calls = 80, count = 64;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Job job(comm);
    int data[count], sum[count];
    for (int i = 0; i < count; ++i) data[i] = given(job.rank, i);
    for (int call = 0; call < calls; ++call) {
        sum[count - 1] = 0;
        MPI_Allreduce(data, sum, count, MPI_INT, MPI_SUM, comm);
        EXPECT(sum[count - 1] == combined<int>(MPI_SUM, job.size, count - 1));
    }
    MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
    for (int i = 0; i < rounds / 4; ++i) do_round();
    const long before = mappings();
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) do_round();
    const double us = (MPI_Wtime() - began) / rounds * 1e6;
    EXPECT(mappings() <= before + 2);
    if (Job(MPI_COMM_WORLD).rank == 0)
        std::printf("%ld wrong; %.1f us for a round\n", checks.wrong, us);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
