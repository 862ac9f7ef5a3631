// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#pragma GCC visibility push(default)
namespace tutti {

class MemoryDevice;

/// The buffers of one call of one rank. In place: they coincide as in_place_offsets() says.
struct CallBuffers {
    std::span<const std::byte> input;
    std::span<std::byte> output;
    bool in_place = false;
    MemoryDevice* device = nullptr;  ///< in whose memory they lie; none: the host's
};

/// Where buffers lie, as far as it is known.
enum class MemoryOf { host, device, any };
inline MemoryOf memory_of(const CallBuffers& buffers) {
    return buffers.device == nullptr ? MemoryOf::host : MemoryOf::device;
}

/// A place in memory of a rank before addresses are known: bytes from the start of one of its
/// memories.
struct Place {
    enum class In : std::uint32_t {
        input,  ///< the caller's buffers
        output,
        registered,  ///< the memory that the caller has registered; peers load and store there
        plan,        ///< the plan's own memory
        inbox,
        outbox,     ///< the plan's memory for messages that arrive, and for packed ones
        published,  ///< of a peer: `offset` counts the places that it publishes to this rank
    } in = In::plan;
    std::uint64_t offset = 0;

    Place after(std::size_t bytes) const { return {in, offset + bytes}; }
    auto operator<=>(const Place&) const = default;
};

/// The caller's buffers that a plan is compiled for. Addresses in them can be carried over to other
/// buffers of the same sizes, so that a plan need not be made anew for each.
class CallerMemory {
public:
    CallerMemory() = default;
    explicit CallerMemory(const CallBuffers& buffers);

    /// Where an address lies in these buffers; nothing for other memory. In place, both buffers are
    /// one stretch of memory that counts as the output.
    std::optional<Place> place_of(const std::byte* address) const;
    /// The address of such a place.
    std::byte* address(Place place) const { return memory(place.in).data() + place.offset; }
    /// All that such places lie in, of the caller's input or output.
    std::span<std::byte> memory(Place::In in) const {
        return in == Place::In::input ? input_ : output_;
    }

    bool is(const CallBuffers& buffers) const {
        return is_same(buffers.input, given_.input) && is_same(buffers.output, given_.output);
    }

    /// Throws Error unless the sizes are equal, and both in place or neither.
    void check_fits(const CallerMemory& other) const;

    /// The same place in `other`, which fits; an address of other memory stays.
    std::byte* carried(std::byte* address, const CallerMemory& other) const {
        const auto place = place_of(address);
        return place ? other.address(*place) : address;
    }
    const std::byte* carried(const std::byte* address, const CallerMemory& other) const {
        return carried(const_cast<std::byte*>(address), other);
    }

    const CallBuffers& given() const { return given_; }
    bool is_together() const { return together_; }

private:
    static bool is_same(std::span<const std::byte> one, std::span<const std::byte> other) {
        return one.data() == other.data() && one.size() == other.size();
    }

    CallBuffers given_;
    bool together_ = false;
    std::span<std::byte> input_, output_;
};

}  // namespace tutti
#pragma GCC visibility pop
