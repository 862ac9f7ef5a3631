// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/baselines/baselines.hpp"
#include "collectives/execute/plan/buffer_kind.hpp"
#include "collectives/world/shared_memory.hpp"

namespace tutti {

/// The buffers of one call on the stage. On a device the host cannot look into them, so it fills
/// and checks copies, outside of timed regions.
struct PooledBuffers {
    CallBuffers call;
    std::span<std::byte> writable_input;
    const ReachableMemory* registered = nullptr;

    /// `write(host)` fills what then is the input.
    void fill_input(const std::function<void(std::span<std::byte>)>& write) const;
    void fill_output(const std::function<void(std::span<std::byte>)>& write) const;
    /// What `look(host)` finds in the output.
    std::int64_t look_at_output(
        const std::function<std::int64_t(std::span<const std::byte>)>& look) const;
};

/// Makes so many bytes of this rank; collective.
struct DeviceBuffers {
    std::function<std::unique_ptr<ReachableMemory>(std::size_t bytes)> on_device = {};
    std::function<std::shared_ptr<std::byte>(std::size_t bytes)> pinned = {};
};

/// Throws Error, on all ranks alike, if what the ranks of a host need (`bytes` of this one) is more
/// than its memory; `instead` is what to type. Collective.
void refuse_more_than_memory(World& world, std::size_t bytes, std::string_view instead);

/// The memory that all candidates of a sweep use in turn. Library and our own get the same bytes at
/// the same addresses.
class BufferPool {
public:
    /// Collective. Room for calls of up to `bytes` (see bytes_for) in memory of each of the kinds;
    /// none: registered where the ranks can share memory, else unregistered. Throws Error if ranks
    /// that must share memory cannot, or if there shall be memory that needs a device and nothing
    /// makes it.
    BufferPool(World& world, std::size_t bytes, std::span<const BufferKind> kinds,
               const DeviceBuffers& of_devices = {});

    /// What there is, at least one.
    const std::vector<BufferKind>& kinds() const { return kinds_; }

    static std::size_t bytes_for(const Call& call, int ranks, bool in_place);

    /// This rank's buffers for a call. In place they coincide, else they lie on pages of their own.
    PooledBuffers set(const Call& call, bool in_place, BufferKind kind) const;

private:
    struct Freed {
        void operator()(std::byte* memory) const { std::free(memory); }
    };

    const World& world_;
    std::vector<BufferKind> kinds_;
    std::size_t bytes_;
    std::unique_ptr<ReachableMemory> shared_, on_device_;
    std::unique_ptr<std::byte, Freed> unregistered_;
    std::shared_ptr<std::byte> pinned_;
};

}  // namespace tutti
