// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "tests/kernels/same_numbers.hpp"
#include "tests/kernels/test_data.hpp"

namespace tutti::device {

inline void require(cudaError_t answer) {
    if (answer != cudaSuccess) throw std::runtime_error(cudaGetErrorString(answer));
}

/// GPU memory in slots of one size, filled from and read back to the host as a whole, so that a
/// test sees every byte that a kernel touched.
class DeviceArena {
public:
    DeviceArena(std::size_t slots, std::size_t slot_bytes)
        : image(slots * slot_bytes, std::byte{0xa5}), slot_bytes_(slot_bytes) {
        require(cudaMalloc(&memory_, image.size()));
    }
    ~DeviceArena() { cudaFree(memory_); }
    DeviceArena(const DeviceArena&) = delete;
    DeviceArena& operator=(const DeviceArena&) = delete;

    Memory image;  // expected content

    std::size_t offset(std::size_t slot, std::size_t skew) const {
        return slot * slot_bytes_ + guard + skew;
    }
    std::byte* on_device(std::size_t slot, std::size_t skew) const {
        return static_cast<std::byte*>(memory_) + offset(slot, skew);
    }
    std::byte* on_host(std::size_t slot, std::size_t skew) {
        return image.data() + offset(slot, skew);
    }
    void upload() const {
        require(cudaMemcpy(memory_, image.data(), image.size(), cudaMemcpyHostToDevice));
    }
    Memory download() const {
        Memory content(image.size());
        require(cudaMemcpy(content.data(), memory_, content.size(), cudaMemcpyDeviceToHost));
        return content;
    }

    static constexpr std::size_t guard = 64;  // bytes before and after the data of a slot

private:
    std::size_t slot_bytes_;
    void* memory_ = nullptr;
};

}  // namespace tutti::device
