// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "collectives/device/block_threads.hpp"
#include "tests/simulated_gpu/arena.hpp"
#include "tests/simulated_gpu/stream.hpp"

namespace tutti::simulated {

/// A grid in one dimension.
struct Grid {
    const void* kernel;  ///< built by the host's compiler
    unsigned blocks, threads;
    bool together;  ///< all blocks at once, because they wait for each other
    std::vector<std::byte> arguments;
};

class Gpu {
public:
    Gpu(int number, std::size_t bytes) : memory(bytes), default_stream(number) {}

    Arena memory;
    Stream default_stream;

    static constexpr int multiprocessors = 8, blocks_of_each = 2;
    static constexpr unsigned most_blocks = multiprocessors * blocks_of_each;

    void add(Stream& stream);
    void remove(Stream& stream);
    /// Waits until all work queued so far on its streams is done.
    void drain();

    /// Returns when the grid is done. Runs one at a time: a GPU need not run two kernels at once.
    void run(const Grid& grid);

private:
    std::mutex busy_, streams_mutex_;
    std::set<Stream*> streams_;
    std::size_t launches_ = 0;  // with all blocks at once
    BlockThreads threads_;
};

/// Returns the number of GPUs. Environment variables set the number (SIMULATED_GPUS, default 2),
/// the MiB of each (SIMULATED_GPU_MEMORY, default 4096), and faults: after how many launches of all
/// blocks at once the last block never runs (SIMULATED_GPU_LOSES_BLOCKS_AFTER), or the GPU is lost
/// (SIMULATED_GPU_FAILS_AFTER).
int how_many_gpus();
Gpu& gpu(int number);
Gpu& current_gpu();
int current_number();
/// Returns the first digit of its compute capability, from SIMULATED_GPU_CAPABILITIES with one
/// digit for each GPU, e.g. "98"; 9 by default.
int capability_of(int number);
/// Returns false if there is no such GPU.
bool choose_gpu(int number);

/// Whether these bytes are memory of a GPU.
bool is_on_gpu(const void* address, std::size_t bytes);
/// Whether they are host memory that a GPU may copy by itself.
bool is_pinned(const void* address, std::size_t bytes);

/// Makes all later calls fail, as on a GPU after an access to memory that it does not have.
void fail(cudaError_t error, const char* why);

/// Returns the answer of a call, which the calling thread gets again by cudaGetLastError().
cudaError_t answer(cudaError_t error);
/// Returns the answer of `call`, if nothing has failed so far.
template <class Call>
cudaError_t answer_of(Call call);
cudaError_t failure();

template <class Call>
cudaError_t answer_of(Call call) {
    if (const cudaError_t error = failure(); error != cudaSuccess) return answer(error);
    return answer(call());
}

inline Stream& stream_of(cudaStream_t handle) {
    return handle == nullptr ? current_gpu().default_stream : *reinterpret_cast<Stream*>(handle);
}

}  // namespace tutti::simulated
