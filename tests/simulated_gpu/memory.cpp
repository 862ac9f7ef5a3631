// SPDX-License-Identifier: Apache-2.0
// Memory: of GPUs, of the host as known to GPUs, of other processes' GPUs; and copies.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/simulated_gpu/gpu.hpp"

namespace tutti::simulated {
namespace {

std::mutex pinned_mutex;
std::map<const std::byte*, std::size_t>& pinned() {
    static auto* const all = new std::map<const std::byte*, std::size_t>;
    return *all;
}

bool pin(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(pinned_mutex);
    return pinned().emplace(static_cast<const std::byte*>(memory), bytes).second;
}
bool unpin(const void* memory) {
    const std::lock_guard lock(pinned_mutex);
    return pinned().erase(static_cast<const std::byte*>(memory)) > 0;
}

bool is_of_some_gpu(const void* address) {
    for (int number = 0; number < how_many_gpus(); ++number)
        if (gpu(number).memory.owns(address)) return true;
    return is_mapped(address, 1);
}

bool may_be(const void* address, std::size_t bytes, bool on_gpu) {
    return on_gpu ? is_on_gpu(address, bytes) : !is_of_some_gpu(address);
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Stream& stream,
                 bool wait) {
    return answer_of([&] {
        const bool to_gpu = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                            (kind == cudaMemcpyDefault && is_of_some_gpu(to));
        const bool from_gpu = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                              (kind == cudaMemcpyDefault && is_of_some_gpu(from));
        if (!may_be(to, bytes, to_gpu) || !may_be(from, bytes, from_gpu))
            return cudaErrorInvalidValue;
        stream.add([=] { std::memcpy(to, from, bytes); });
        const bool by_itself =
            (to_gpu || is_pinned(to, bytes)) && (from_gpu || is_pinned(from, bytes));
        if (wait || (!by_itself && !stream.is_captured())) stream.drain();
        return failure();
    });
}

cudaError_t set(void* to, int value, std::size_t bytes, Stream& stream, bool wait) {
    return answer_of([&] {
        if (!is_on_gpu(to, bytes)) return cudaErrorInvalidValue;
        stream.add([=] { std::memset(to, value, bytes); });
        if (wait) stream.drain();
        return failure();
    });
}

}  // namespace

bool is_pinned(const void* address, std::size_t bytes) {
    const std::lock_guard lock(pinned_mutex);
    const auto* const first = static_cast<const std::byte*>(address);
    const auto next = pinned().upper_bound(first);
    if (next == pinned().begin()) return false;
    const auto& [begin, size] = *std::prev(next);
    return first + bytes <= begin + size;
}

}  // namespace tutti::simulated

using namespace tutti::simulated;

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    return answer_of([&] {
        *memory = bytes == 0 ? nullptr : current_gpu().memory.allocate(bytes);
        return *memory != nullptr || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}

// Waits for the GPU's running work, like the real one.
cudaError_t cudaFree(void* memory) {
    if (memory == nullptr) return answer(failure());
    for (int number = 0; number < how_many_gpus(); ++number) {
        if (!gpu(number).memory.owns(memory)) continue;
        gpu(number).drain();
        if (gpu(number).memory.release(static_cast<std::byte*>(memory))) return answer(failure());
    }
    return answer(cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
    return answer_of([&] {
        *free = current_gpu().memory.free_bytes();
        *all = current_gpu().memory.size();
        return cudaSuccess;
    });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
    return answer_of([&] {
        *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        return *memory != nullptr && pin(*memory, bytes) ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
    return cudaHostAlloc(memory, bytes, 0);
}
cudaError_t cudaFreeHost(void* memory) {
    if (!unpin(memory)) return answer(cudaErrorInvalidValue);
    std::free(memory);
    return answer(failure());
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
    return answer_of(
        [&] { return pin(memory, bytes) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered; });
}
cudaError_t cudaHostUnregister(void* memory) {
    return answer(unpin(memory) ? failure() : cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** there, void* memory, unsigned) {
    *there = memory;
    return answer(is_pinned(memory, 1) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return copy(to, from, bytes, kind, current_gpu().default_stream, true);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return copy(to, from, bytes, kind, stream_of(stream), false);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return set(to, value, bytes, current_gpu().default_stream, true);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    return set(to, value, bytes, stream_of(stream), false);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
    return answer_of([&] {
        for (int number = 0; number < how_many_gpus(); ++number) {
            Arena& arena = gpu(number).memory;
            if (!arena.has(memory, 1)) continue;
            const ArenaKey key = arena.key_of(static_cast<std::byte*>(memory));
            std::memset(handle, 0, sizeof *handle);
            std::memcpy(handle, &key, sizeof key);
            return cudaSuccess;
        }
        return cudaErrorInvalidValue;
    });
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
    return answer_of([&] {
        ArenaKey key{};
        std::memcpy(&key, &handle, sizeof key);
        if (key.process == getpid())
            return cudaErrorDeviceUninitialized;  // it has the memory itself
        *memory = map_arena(key);
        return *memory != nullptr ? cudaSuccess : cudaErrorInvalidValue;
    });
}
cudaError_t cudaIpcCloseMemHandle(void* memory) {
    return answer(unmap_arena(static_cast<std::byte*>(memory)) ? failure() : cudaErrorInvalidValue);
}

}  // extern "C"
