// SPDX-License-Identifier: Apache-2.0
// Sums the gradients of a backward pass while earlier layers are still computed: start after each
// layer, test now and then, wait at the end.
//   mpirun -n 4 overlap
#include <mpi.h>

#include <cstdio>
#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <vector>

namespace {

constexpr std::size_t layer_sizes[] = {1'000, 40'000, 40'000, 5'000};
constexpr std::size_t slice = 1'000;  // elements computed between two tests

// Simulates one layer's backward pass. Data moves only during calls, so it calls test().
void compute(std::vector<float>& gradients, float value, std::vector<tutti::Request>& under_way) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        gradients[i] = value;
        if (i % slice == 0)
            for (tutti::Request& request : under_way) request.test();
    }
}

bool one_step(tutti::Communicator& ranks) {
    std::vector<std::vector<float>> layers;
    for (const std::size_t size : layer_sizes) layers.emplace_back(size);

    std::vector<tutti::Request> under_way;
    for (std::size_t l = layers.size(); l-- > 0;) {  // backward: the last layer first
        compute(layers[l], static_cast<float>(ranks.rank().index + 1), under_way);
        under_way.push_back(ranks.start_all_reduce(layers[l]));
    }
    for (tutti::Request& request : under_way) request.wait();

    const auto sum = static_cast<float>(ranks.size() * (ranks.size() + 1) / 2);
    for (const std::vector<float>& layer : layers)
        for (const float gradient : layer)
            if (gradient != sum) return false;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int result = 1;
    try {
        auto ranks = tutti::Communicator::over_mpi(MPI_Comm_c2f(MPI_COMM_WORLD));
        bool is_right = true;
        for (int step = 0; step < 10; ++step) is_right = one_step(ranks) && is_right;
        std::printf("rank %d of %d: gradients %s\n", ranks.rank().index, ranks.size(),
                    is_right ? "right" : "WRONG");
        result = is_right ? 0 : 2;
    } catch (const tutti::Error& error) {
        std::fprintf(stderr, "overlap: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
    MPI_Finalize();
    return result;
}
