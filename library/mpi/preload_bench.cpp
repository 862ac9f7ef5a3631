// SPDX-License-Identifier: Apache-2.0
// Measures MPI calls, to compare runs with and without libtutti_mpi.so. The MPI library always does
// calls without elements, which return at once. Their difference is the cost of passing a call on.
//   scripts/lib/mpi.sh 2 build/preload_bench
//   build/tutti run --after 0 -- scripts/lib/mpi.sh 2 build/preload_bench
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int most_rounds = 15;

// Returns the median over rounds of the slowest rank's mean time, in ns.
double time_of(const std::function<void()>& call, int calls) {
    std::vector<double> rounds;
    for (int round = 0; round < most_rounds; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double began = MPI_Wtime();
        for (int i = 0; i < calls; ++i) call();
        double mine = (MPI_Wtime() - began) / calls * 1e9, slowest = 0;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        rounds.push_back(slowest);
    }
    std::nth_element(rounds.begin(), rounds.begin() + most_rounds / 2, rounds.end());
    return rounds[most_rounds / 2];
}

void print(const std::string& what, double ns) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::printf("%-28s %12.1f ns\n", what.c_str(), ns);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm others = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &others);
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<double> in(1 << 17, 1.0), out(in.size() * static_cast<std::size_t>(ranks));
    print("all_reduce of 0 bytes",
          time_of(
              [&] { MPI_Allreduce(in.data(), out.data(), 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
              100'000));
    print("the same, alternating two",
          time_of(
              [&] {
                  MPI_Allreduce(in.data(), out.data(), 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                  MPI_Allreduce(in.data(), out.data(), 0, MPI_DOUBLE, MPI_SUM, others);
              },
              100'000) /
              2);
    print("barrier", time_of([] { MPI_Barrier(MPI_COMM_WORLD); }, 2000));
    for (int count = 1; count <= 1 << 17; count *= 8) {
        const int calls = std::max(20, 2000 / (1 + count / 2048));
        const std::string bytes = std::to_string(count * 8);
        print("all_reduce " + bytes, time_of(
                                         [&] {
                                             MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE,
                                                           MPI_SUM, MPI_COMM_WORLD);
                                         },
                                         calls));
        print("broadcast " + bytes,
              time_of([&] { MPI_Bcast(in.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }, calls));
        print("all_gather " + bytes, time_of(
                                         [&] {
                                             MPI_Allgather(in.data(), count, MPI_DOUBLE, out.data(),
                                                           count, MPI_DOUBLE, MPI_COMM_WORLD);
                                         },
                                         calls));
    }
    MPI_Comm_free(&others);
    MPI_Finalize();
    return 0;
}
