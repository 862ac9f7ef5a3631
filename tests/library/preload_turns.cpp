// SPDX-License-Identifier: Apache-2.0
// Makes 2000 equal calls, for the report at the end. preload_test.py runs it.
#include "preload_program.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    std::vector<float> data(2500, 1.0F), sum(data.size());  // 10,000 bytes
    const Job job(MPI_COMM_WORLD);
    for (int i = 0; i < 2000; ++i) {
        MPI_Allreduce(data.data(), sum.data(), 2500, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(sum.front() == static_cast<float>(job.size) && sum.back() == sum.front());
    }
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
