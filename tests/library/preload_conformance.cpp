// SPDX-License-Identifier: Apache-2.0
// An MPI program that checks all collectives. preload_test.py runs it with and without
// libtutti_mpi.so. The programs in mpi/unusual check other features of MPI.
#include "preload_conformance.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
        const Job job(comm);
        check_calls(job);
        check_blocks(job);
        check_repeated_calls(job);
        MPI_Barrier(comm);
    }
    long all[2] = {}, mine[2] = {checks.done, checks.wrong};
    MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    const Job job(MPI_COMM_WORLD);
    if (job.rank == 0) std::printf("%ld checks, %ld wrong\n", all[0], all[1]);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
