// SPDX-License-Identifier: Apache-2.0
// Reductions of MPI_CHAR, which the standard lacks. The expected values are the MPI library's own,
// combined on each rank. preload_test.py runs it.
#include "preload_program.hpp"

namespace {

constexpr int count = 300, calls = 100;

// Returns the elements of a rank: all 256 values, or small ones for sums and products, which may
// overflow in different ways.
std::vector<char> chars_of(int rank, MPI_Op op) {
    if (op == MPI_SUM || op == MPI_PROD) return given_by<char>(rank, count);
    std::vector<char> all(count);
    for (int i = 0; i < count; ++i)
        all[static_cast<std::size_t>(i)] = static_cast<char>(31 * rank + 5 * i);
    return all;
}

void combine(const Job& job, MPI_Op op) {
    std::vector<char> expected = chars_of(0, op), all(count);
    for (int rank = 1; rank < job.size; ++rank)
        if (MPI_Reduce_local(chars_of(rank, op).data(), expected.data(), count, MPI_CHAR, op) !=
            MPI_SUCCESS)
            return;
    const std::vector<char> mine = chars_of(job.rank, op);
    for (int call = 0; call < calls; ++call) {
        MPI_Allreduce(mine.data(), all.data(), count, MPI_CHAR, op, job.comm);
        EXPECT(all == expected);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const Job job(MPI_COMM_WORLD);
    for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN}) combine(job, op);
    if (job.rank == 0) std::printf("%ld checks, %ld wrong\n", checks.done, checks.wrong);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
