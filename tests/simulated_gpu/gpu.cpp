// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/gpu.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/simulated_gpu/kernels.hpp"

namespace tutti::simulated {
namespace {

std::size_t setting(const char* name, std::size_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<std::size_t>(std::atoll(text));
}

// Never destroyed: programs release memory while they end.
std::vector<std::unique_ptr<Gpu>>& gpus() {
    static auto* const all = [] {
        auto* made = new std::vector<std::unique_ptr<Gpu>>;
        for (int i = 0; i < how_many_gpus(); ++i)
            made->push_back(std::make_unique<Gpu>(i, setting("SIMULATED_GPU_MEMORY", 4096) << 20));
        return made;
    }();
    return *all;
}

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> failed = cudaSuccess;

}  // namespace

int how_many_gpus() {
    static const auto number = static_cast<int>(setting("SIMULATED_GPUS", 2));
    return number;
}

Gpu& gpu(int number) { return *gpus().at(static_cast<std::size_t>(number)); }
Gpu& current_gpu() { return gpu(current); }
int current_number() { return current; }

int capability_of(int number) {
    const char* const digits = std::getenv("SIMULATED_GPU_CAPABILITIES");
    const auto place = static_cast<std::size_t>(number);
    return digits == nullptr || std::strlen(digits) <= place ? 9 : digits[place] - '0';
}

bool choose_gpu(int number) {
    if (number < 0 || number >= how_many_gpus()) return false;
    current = number;
    return true;
}

bool is_on_gpu(const void* address, std::size_t bytes) {
    return is_mapped(address, bytes) || std::ranges::any_of(gpus(), [&](const auto& gpu) {
               return gpu->memory.has(address, bytes);
           });
}

void fail(cudaError_t error, const char* why) {
    std::fprintf(stderr, "simulated GPU: %s\n", why);
    failed = error;
}

cudaError_t failure() { return failed; }

cudaError_t answer(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

void Gpu::add(Stream& stream) {
    const std::lock_guard lock(streams_mutex_);
    streams_.insert(&stream);
}

void Gpu::remove(Stream& stream) {
    const std::lock_guard lock(streams_mutex_);
    streams_.erase(&stream);
}

void Gpu::drain() {
    std::vector<std::shared_ptr<Moment>> ends{default_stream.mark()};
    {
        const std::lock_guard lock(streams_mutex_);
        for (Stream* stream : streams_)
            if (!stream->is_captured()) ends.push_back(stream->mark());
    }
    for (const auto& end : ends) end->wait();
}

// Blocks that do not wait for each other run in turn.
void Gpu::run(const Grid& grid) {
    const std::lock_guard one(busy_);
    if (failure() != cudaSuccess) return;
    static const std::size_t never = SIZE_MAX,
                             loses_after = setting("SIMULATED_GPU_LOSES_BLOCKS_AFTER", never),
                             fails_after = setting("SIMULATED_GPU_FAILS_AFTER", never);
    if (grid.together) ++launches_;
    if (launches_ > fails_after) return fail(cudaErrorIllegalAddress, "it was asked to fail");
    const bool loses_last = grid.together && launches_ > loses_after;
    std::atomic<unsigned> next = 0;
    std::atomic<unsigned> left = grid.together ? grid.blocks : 2;
    Moment end;
    const auto work = [&] {
        for (unsigned block = next++; block < grid.blocks; block = next++) {
            if (loses_last && block + 1 == grid.blocks) break;
            run_block({grid.kernel, grid.arguments.data(), grid.threads, block, grid.blocks,
                       grid.together});
            if (grid.together) break;
        }
        if (--left == 0) end.come();
    };
    threads_.start(std::vector<BlockThreads::Block>(left.load(), work));
    end.wait();
}

}  // namespace tutti::simulated

using namespace tutti::simulated;

extern "C" {

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
    *count = how_many_gpus();
    return answer(how_many_gpus() > 0 ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
    return answer(choose_gpu(device) ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
    *device = current_number();
    return answer(cudaSuccess);
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return answer(cudaSuccess);
}
cudaError_t cudaDeviceSynchronize() {
    return answer_of([] {
        current_gpu().default_stream.drain();
        return failure();
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= how_many_gpus()) return answer(cudaErrorInvalidDevice);
    *properties = cudaDeviceProp{};
    std::snprintf(properties->name, sizeof properties->name, "simulated GPU");
    properties->uuid.bytes[15] = static_cast<char>(device);
    properties->pciBusID = device + 1;
    properties->totalGlobalMem = gpu(device).memory.size();
    properties->multiProcessorCount = Gpu::multiprocessors;
    properties->major = capability_of(device);
    return answer(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    if (device < 0 || device >= how_many_gpus()) return answer(cudaErrorInvalidDevice);
    switch (which) {
        case cudaDevAttrMultiProcessorCount:
            *value = Gpu::multiprocessors;
            break;
        case cudaDevAttrCooperativeLaunch:
            *value = 1;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = capability_of(device);
            break;
        default:
            *value = 0;
    }
    return answer(cudaSuccess);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    *can = device != peer ? 1 : 0;
    return answer(cudaSuccess);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return answer(peer == current_number() ? cudaErrorInvalidDevice : cudaSuccess);
}

}  // extern "C"
