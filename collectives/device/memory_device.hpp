// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/types.hpp"

namespace tutti {

/// Work on a device that is done in the order asked for, beside the host. What is asked for returns
/// at once; all addresses must stay valid until it is done. Throws Error (rank_lost) if the device
/// has failed.
class DeviceQueue {
public:
    virtual ~DeviceQueue() = default;

    /// Either end in the device's memory, or in memory of the host that it knows: pinned, or made
    /// known.
    virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

    /// Each out = sources[0] op sources[1] op ..., as the host's kernels do it; avg as the sum. All
    /// in the device's memory; `sources` and `outs` are read before it returns. At most
    /// most_sources() of them.
    virtual void combine(DataType type, Op op, std::span<std::byte* const> outs,
                         std::span<const std::byte* const> sources, std::size_t elements) = 0;

    virtual std::size_t most_sources(DataType type) const {
        (void)type;
        return SIZE_MAX;
    }

    /// Turns a sum over so many ranks into their mean, in place.
    virtual void divide(DataType type, std::byte* values, std::size_t elements, int ranks) = 0;

    /// What is asked for from here on begins when all is done that `other` has been asked so far.
    virtual void follow(DeviceQueue& other) = 0;

    /// Whether all is done that was asked for before the mark was made.
    using Mark = std::uint64_t;
    virtual Mark mark() = 0;
    virtual bool is_past(Mark mark) = 0;

    /// As the device's own library names it (a cudaStream_t), to ask it for other work in between.
    virtual void* handle() const = 0;
};

/// A device with memory of its own that the host cannot touch, as far as plans by message need one.
/// Must outlive its queues.
class MemoryDevice {
public:
    virtual ~MemoryDevice() = default;

    /// Both throw Error if there is too little; allocate() of the device's memory.
    virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
    /// Memory of the host that the device copies from and to by itself.
    virtual std::shared_ptr<std::byte> pinned(std::size_t bytes) = 0;
    /// The same for memory that is there already, such as what ranks share: until the last owner
    /// of what it returns is gone. Ranks that are threads may all do so. Throws Error if the pages
    /// cannot be locked.
    virtual std::shared_ptr<void> make_known(std::span<std::byte> memory) = 0;
    virtual std::unique_ptr<DeviceQueue> queue() = 0;
};

}  // namespace tutti
