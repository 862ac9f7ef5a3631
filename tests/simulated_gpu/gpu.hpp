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
    bool together;  ///< all blocks at once, as they wait for each other
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
    /// Until all is done that its streams have been asked for so far.
    void drain();

    /// Returns when the grid is done. One at a time: a GPU need not run two kernels at once.
    void run(const Grid& grid);

private:
    std::mutex busy_, streams_mutex_;
    std::set<Stream*> streams_;
    std::size_t launches_ = 0;  // of all blocks at once
    BlockThreads threads_;
};

/// FakeEnvironment variables say how many there are (SIMULATED_GPUS, else 2), how many MiB each has
/// (SIMULATED_GPU_MEMORY, else 4096), and what goes wrong: after how many launches of all blocks at
/// once the last block never runs (SIMULATED_GPU_LOSES_BLOCKS_AFTER), or the GPU is lost
/// (SIMULATED_GPU_FAILS_AFTER).
int how_many_gpus();
Gpu& gpu(int number);
Gpu& current_gpu();
int current_number();
/// The first digit of its compute capability, which SIMULATED_GPU_CAPABILITIES says for each: "98".
/// 9 where nothing is said.
int capability_of(int number);
/// False if there is no such GPU.
bool choose_gpu(int number);

/// Whether so many bytes from there on are memory of a GPU.
bool is_on_gpu(const void* address, std::size_t bytes);
/// Whether they are memory of the host that a GPU may copy by itself.
bool is_pinned(const void* address, std::size_t bytes);

/// All is lost from here on, as on a GPU after an access to memory that it does not have.
void fail(cudaError_t error, const char* why);

/// A call's answer, which the calling thread gets again by cudaGetLastError().
cudaError_t answer(cudaError_t error);
/// What `call` answers, if nothing has failed so far.
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
