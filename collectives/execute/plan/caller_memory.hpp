// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

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

/// The caller's buffers that a plan is compiled for. Addresses in them can be carried over to other
/// buffers of the same sizes, so that a plan need not be made anew for each.
class CallerMemory {
public:
    /// In place, input and output are one region.
    enum class Region : std::uint8_t { none, input, output };

    CallerMemory() = default;
    explicit CallerMemory(const CallBuffers& buffers);

    /// Where an address lies that this process had before, or for, these buffers.
    Region region_of(const std::byte* address) const;

    bool is(const CallBuffers& buffers) const {
        return is_same(buffers.input, given_.input) && is_same(buffers.output, given_.output);
    }

    /// Throws Error unless the sizes are equal, and both in place or neither.
    void check_fits(const CallerMemory& other) const;

    /// The same place in `other`, which fits; an address of other memory stays.
    std::byte* carried(std::byte* address, const CallerMemory& other) const;
    const std::byte* carried(const std::byte* address, const CallerMemory& other) const {
        return carried(const_cast<std::byte*>(address), other);
    }

    const CallBuffers& given() const { return given_; }
    bool is_together() const { return together_; }
    /// Where the region of the output begins; in place, the first byte of both.
    std::byte* output_begin() const { return output_.data(); }
    std::byte* input_begin() const { return input_.data(); }

private:
    static bool is_same(std::span<const std::byte> one, std::span<const std::byte> other) {
        return one.data() == other.data() && one.size() == other.size();
    }

    CallBuffers given_;
    bool together_ = false;
    std::span<std::byte> input_, output_;
};

}  // namespace tutti
