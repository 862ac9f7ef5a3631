// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/emulated_memory.hpp"

#include <cstring>
#include <new>

#include "base/error.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

class EmulatedQueue final : public DeviceQueue {
public:
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }
    void combine(DataType type, Op op, std::span<std::byte* const> outs,
                 std::span<const std::byte* const> sources, std::size_t elements) override {
        find_reduce(type, op)(outs.data(), outs.size(), sources.data(), sources.size(), elements);
    }
    void divide(DataType type, std::byte* values, std::size_t elements, int ranks) override {
        find_divide(type)(values, elements, ranks);
    }
    void follow(DeviceQueue&) override {}
    Mark mark() override { return 0; }
    bool is_past(Mark) override { return true; }
    void* handle() const override { return nullptr; }
};

class EmulatedMemory final : public MemoryDevice {
public:
    std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
        constexpr std::align_val_t page{4096};
        auto* memory = static_cast<std::byte*>(::operator new(bytes, page, std::nothrow));
        if (memory == nullptr)
            throw Error("no memory for an emulated device; take smaller messages");
        return {memory, [](std::byte* there) { ::operator delete(there, page); }};
    }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override { return allocate(bytes); }
    std::shared_ptr<void> make_known(std::span<std::byte>) override { return nullptr; }
    std::unique_ptr<DeviceQueue> queue() override { return std::make_unique<EmulatedQueue>(); }
};

}  // namespace

std::unique_ptr<MemoryDevice> emulated_memory() { return std::make_unique<EmulatedMemory>(); }

}  // namespace tutti
