// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/types.hpp"

namespace tutti {

/// Work on a device that is executed in order, asynchronously to the host. Calls return at once;
/// all addresses must stay valid until the work is done. Throws Error (rank_lost) if the device has
/// failed.
class DeviceQueue {
public:
    virtual ~DeviceQueue() = default;

    /// Both ends are in the device's memory, or in host memory that is pinned or registered with
    /// it.
    virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

    /// Combines: each out = sources[0] op sources[1] op ..., with the result of the host's kernels;
    /// avg as the sum. All operands are in the device's memory; `sources` and `outs` are read
    /// before it returns. Takes at most most_sources() sources.
    virtual void combine(DataType type, Op op, std::span<std::byte* const> outs,
                         std::span<const std::byte* const> sources, std::size_t elements) = 0;

    virtual std::size_t most_sources(DataType type) const {
        (void)type;
        return SIZE_MAX;
    }

    /// Turns a sum over `ranks` ranks into their mean, in place.
    virtual void divide(DataType type, std::byte* values, std::size_t elements, int ranks) = 0;

    /// Work queued from here on begins when all work that `other` holds now is done.
    virtual void follow(DeviceQueue& other) = 0;

    /// Marks a position in the queue; is_past() tells whether all work before it is done.
    using Mark = std::uint64_t;
    virtual Mark mark() = 0;
    virtual bool is_past(Mark mark) = 0;

    /// Returns the handle of the device's own library (a cudaStream_t), to queue other work in
    /// between.
    virtual void* handle() const = 0;
};

/// A device with memory that the host cannot access, as seen by plans by messages. Must outlive its
/// queues.
class MemoryDevice {
public:
    virtual ~MemoryDevice() = default;

    /// Allocates device memory; throws Error if there is too little, as pinned() does.
    virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
    /// Allocates host memory that the device copies from and to by itself.
    virtual std::shared_ptr<std::byte> pinned(std::size_t bytes) = 0;
    /// Makes existing memory, e.g. memory shared by ranks, usable in the same way, until the last
    /// owner of the result is gone. Several ranks that are threads may all do so. Throws Error if
    /// the pages cannot be locked.
    virtual std::shared_ptr<void> register_memory(std::span<std::byte> memory) = 0;
    virtual std::unique_ptr<DeviceQueue> queue() = 0;
};

}  // namespace tutti
