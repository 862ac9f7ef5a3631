// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/baselines/baselines.hpp"
#include "collectives/execute/plan/buffer_kind.hpp"
#include "collectives/planner/planner.hpp"

namespace tutti {

/// The buffers of one call in a pool. Those on a device the host writes and reads as copies,
/// outside of timed regions.
struct PooledBuffers {
    CallBuffers call;
    std::span<std::byte> writable_input;
    const ReachableMemory* registered = nullptr;

    /// `write` is given memory of the host, which then becomes the input or the output.
    void write_input(const std::function<void(std::span<std::byte>)>& write) const;
    void write_output(const std::function<void(std::span<std::byte>)>& write) const;
    /// Converts a byte count of the output to elements.
    std::int64_t count_in_output(
        const std::function<std::int64_t(std::span<const std::byte>)>& count) const;
};

/// Allocates `bytes` of this rank's memory on a device. Collective.
struct DeviceBuffers {
    std::function<std::unique_ptr<ReachableMemory>(std::size_t bytes)> on_device = {};
    std::function<std::shared_ptr<std::byte>(std::size_t bytes)> pinned = {};
};

/// Memory on devices for plans over these transports (by name; "all" counts as none): registered
/// for the first transport whose plans run on devices. Without such a transport, memory of each
/// rank's own GPU, used by messages. The result throws Error on all ranks alike if there is no GPU
/// or not enough memory. `planner` outlives it.
DeviceBuffers device_buffers(Planner& planner, const std::vector<std::string>& transports);

/// How many bytes after their usual places the buffers of a pool begin; multiples of a cache line.
struct BufferOffsets {
    std::size_t both = 0;    ///< of the input and the output
    std::size_t output = 0;  ///< of the output besides, unless it is the input
};

/// Throws Error, on all ranks alike, if what the ranks of a host need (`bytes` of this one) is more
/// than its memory; `instead` is what to type. Collective.
void refuse_more_than_memory(World& world, std::size_t bytes, std::string_view instead);

/// The memory that all candidates of a sweep share, so that libraries and our plans get the same
/// bytes at the same addresses.
class BufferPool {
public:
    /// Collective. Room for calls of up to `bytes` (see bytes_for) in memory of each of the kinds;
    /// none: registered where the ranks can share memory, else unregistered. Throws Error on all
    /// ranks alike if registered memory is asked for and ranks cannot share it, if one lacks the
    /// memory, if mapped memory is asked for and there is no libtutti_heap.so, or if memory on
    /// devices is asked for and `of_devices` does not make it.
    BufferPool(World& world, std::size_t bytes, std::span<const BufferKind> kinds,
               const DeviceBuffers& of_devices = {}, BufferOffsets offsets = {});

    /// At least one.
    const std::vector<BufferKind>& kinds() const { return kinds_; }

    static std::size_t bytes_for(const Call& call, int ranks, bool in_place);

    /// This rank's buffers for a call. In place they coincide, else they lie on pages of their own
    /// if there are no offsets. Device and pinned memory has no offsets.
    PooledBuffers buffers_for(const Call& call, bool in_place, BufferKind kind) const;

private:
    struct Freed {
        void operator()(std::byte* memory) const { std::free(memory); }
    };

    const World& world_;
    std::vector<BufferKind> kinds_;
    BufferOffsets offsets_;
    std::size_t bytes_;
    std::unique_ptr<ReachableMemory> shared_, on_device_;
    std::unique_ptr<std::byte, Freed> unregistered_;
    std::shared_ptr<std::byte> mapped_, pinned_;
};

}  // namespace tutti
