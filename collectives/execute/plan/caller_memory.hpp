// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collectives/execute/plan/buffer_kind.hpp"

#pragma GCC visibility push(default)
namespace tutti {

class MemoryDevice;

/// The buffers of one call of one rank. In place, they coincide as in_place_offsets() specifies.
struct CallBuffers {
    std::span<const std::byte> input;
    std::span<std::byte> output;
    bool in_place = false;
    MemoryDevice* device = nullptr;  ///< device that holds them; null for the host
};

/// Returns the kind of memory as far as the buffers alone tell: `device` or `unregistered`.
inline BufferKind memory_of(const CallBuffers& buffers) {
    return buffers.device == nullptr ? BufferKind::unregistered : BufferKind::device;
}

/// Returns whether they have a byte in common.
inline bool overlap(std::span<const std::byte> one, std::span<const std::byte> other) {
    return !one.empty() && !other.empty() && one.data() < other.data() + other.size() &&
           other.data() < one.data() + one.size();
}

/// A location in memory of a rank before addresses are known: an offset in one of its memories.
struct Place {
    enum class In : std::uint32_t {
        input,  ///< the caller's buffers
        output,
        plan  ///< the plan's own memory
    } in = In::plan;
    std::uint64_t offset = 0;

    auto operator<=>(const Place&) const = default;
};

/// The caller's buffers of a plan's runs.
class CallerMemory {
public:
    CallerMemory() = default;
    explicit CallerMemory(const CallBuffers& buffers);

    /// Returns the place of an address in these buffers; nothing for other memory. In place, both
    /// buffers are one piece of memory that counts as the output, also if one of them is empty.
    std::optional<Place> place_of(const std::byte* address) const;
    /// Returns the whole memory of the caller's input or output.
    std::span<std::byte> memory(Place::In in) const {
        return in == Place::In::input ? input_ : output_;
    }

    bool is(const CallBuffers& buffers) const {
        return has_sizes_of(buffers) && buffers.input.data() == given_.input.data() &&
               buffers.output.data() == given_.output.data();
    }
    bool has_sizes_of(const CallBuffers& buffers) const {
        return buffers.input.size() == given_.input.size() &&
               buffers.output.size() == given_.output.size();
    }

    const CallBuffers& given() const { return given_; }
    bool is_together() const { return together_; }

private:
    CallBuffers given_;
    bool together_ = false;
    std::span<std::byte> input_, output_;
};

}  // namespace tutti
#pragma GCC visibility pop
