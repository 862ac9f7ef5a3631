// SPDX-License-Identifier: Apache-2.0
// Sums gradients over the ranks of an MPI program: first bucket by bucket, then each bucket while
// the next one is computed.
//   mpirun -n 4 sum_gradients [--learn TABLE]
#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <tutti/communicator.hpp>
#include <tutti/table.hpp>
#include <vector>

namespace {

// The number of floats in a few layers.
constexpr std::size_t bucket_sizes[] = {25'000, 1'000, 60'000, 3'000};
constexpr int steps = 20;

// Simulates the backward pass with known gradients, so that sums can be checked.
void compute(std::span<float> gradients, int rank, int step) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
        gradients[i] = static_cast<float>((static_cast<int>(i % 7) + step) * (rank + 1));
}

// The sum of rank + 1 over all ranks is ranks * (ranks + 1) / 2.
bool is_summed(std::span<const float> gradients, int ranks, int step) {
    const int all = ranks * (ranks + 1) / 2;
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (gradients[i] != static_cast<float>((static_cast<int>(i % 7) + step) * all))
            return false;
    return true;
}

bool sum_all(tutti::Communicator& communicator) {
    const int rank = communicator.rank().index, ranks = communicator.size();
    std::vector<std::span<float>> buckets;  // in memory that the ranks of a host share
    for (const std::size_t size : bucket_sizes)
        buckets.push_back(communicator.allocate<float>(size));
    bool all_right = true;
    for (int step = 0; step < steps; ++step) {
        for (const std::span<float> bucket : buckets) {
            compute(bucket, rank, step);
            communicator.all_reduce(bucket);
            all_right = all_right && is_summed(bucket, ranks, step);
        }
        std::vector<tutti::Request> under_way;
        for (const std::span<float> bucket : buckets) {
            compute(bucket, rank, step);
            under_way.push_back(communicator.start_all_reduce(bucket));
            for (tutti::Request& one : under_way) one.test();  // moves the started calls
        }
        for (tutti::Request& one : under_way) one.wait();
        for (const std::span<float> bucket : buckets)
            all_right = all_right && is_summed(bucket, ranks, step);
    }
    // The ranks agree by the minimum of their results, in unregistered memory.
    int verdict = all_right ? 1 : 0;
    communicator.all_reduce(std::span(&verdict, 1), tutti::Op::min);
    return verdict == 1;
}

// Updates the table if it exists, else writes a new one.
void keep(const tutti::Table& learnt, const char* file, bool is_first) {
    if (!is_first) return;
    tutti::Table table;
    if (std::filesystem::exists(file)) table = tutti::read_table(file);
    tutti::overlay(table, learnt);
    tutti::keep_table(table, file);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int result = 1;
    try {
        const bool learns = argc == 3 && std::string_view(argv[1]) == "--learn";
        tutti::CommunicatorOptions options;
        if (learns) options.learn.emplace();
        auto communicator = tutti::Communicator::over_mpi(MPI_Comm_c2f(MPI_COMM_WORLD), options);
        const bool is_right = sum_all(communicator);
        const bool is_first = communicator.rank().index == 0;
        if (is_first)
            std::printf("%d ranks summed %zu buckets %d times: %s\n", communicator.size(),
                        std::size(bucket_sizes), 2 * steps, is_right ? "right" : "WRONG");
        if (learns) keep(communicator.learnt(), argv[2], is_first);
        result = is_right ? 0 : 2;
    } catch (const tutti::Error& error) {  // other ranks may wait for this one
        std::fprintf(stderr, "sum_gradients: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
    MPI_Finalize();
    return result;
}
