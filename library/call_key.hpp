// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "autotune/choice/subject.hpp"
#include "collectives/execute/plan/layout.hpp"

namespace tutti {

/// Blocking, or started and completed later.
enum class CallMode : std::uint8_t { blocking, nonblocking };

/// A place in registered memory.
struct RegisteredPlace {
    std::int32_t arena = -1;  ///< -1: none, or unregistered memory
    std::size_t offset = 0;
    auto operator<=>(const RegisteredPlace&) const = default;
};

/// Identifies a call, the same on all ranks: thus it contains no addresses of unregistered memory.
struct CallKey {
    Call call;
    bool in_place = false;
    CallMode mode = CallMode::blocking;
    bool has_lengths = false;  ///< the blocks have different lengths; `call` has the longest
    std::int16_t arm = -1;     ///< the configuration to try, if the communicator learns; else -1
    RegisteredPlace input, output;
    bool operator==(const CallKey&) const = default;

    bool is_registered() const { return input.arena >= 0 || output.arena >= 0; }
    std::int32_t arena() const { return input.arena >= 0 ? input.arena : output.arena; }
};

/// Returns the size of a call's block, in bytes.
inline std::int64_t block_bytes(const Call& call) {
    return call.count * static_cast<std::int64_t>(size_of(call.type));
}

/// Returns the largest block, in bytes, of the calls that are executed like one with this block:
/// the next power of two, at least 8.
inline std::int64_t octave_of(std::int64_t bytes_of_block) {
    constexpr std::int64_t least = 8;
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes_of_block, least))));
}
inline std::int64_t octave_of(const Call& call) { return octave_of(block_bytes(call)); }

/// Returns a number that all lengths between two powers of two share. Each power of two has its
/// own: it ends an octave of blocks, see octave_of(), but begins one of the size of all blocks.
inline int octave_id(std::int64_t length) {
    const auto bits = static_cast<std::uint64_t>(length);
    return std::bit_width(bits) + std::bit_width(bits - 1);
}

/// Returns the key of all calls of an octave, with the same type and operation: they have the same
/// configuration. Its count is in bytes.
inline CallKey of_octave(CallKey key) {
    key.call.count = octave_of(key.call);
    key.input = key.output = {.arena = key.arena()};
    return key;
}

/// Identifies calls that share a plan and a search. They may differ in buffers, in length within an
/// octave, and in types and operations of equal cost (see Subject). Two octaves apply: of_octave(),
/// and that of the size of all blocks, by which a communicator learns. Two words are cheaper to
/// hash and to compare than a CallKey.
struct CallClass {
    std::uint64_t how = 0;  ///< 0: no class
    std::uint64_t where = 0;
    bool operator==(const CallClass&) const = default;

    std::uint64_t hash() const { return (how ^ where * 31) * 0x9E3779B97F4A7C15U; }
};

/// Returns the octaves of a block of these bytes, and of all blocks.
inline std::uint64_t octaves_of(std::int64_t bytes_of_block, std::int64_t bytes) {
    const auto octave_of_all = std::bit_width(static_cast<std::uint64_t>(bytes)),
               octave = std::bit_width(static_cast<std::uint64_t>(octave_of(bytes_of_block)));
    return static_cast<std::uint64_t>(octave) | static_cast<std::uint64_t>(octave_of_all) << 8;
}

/// `bytes` is the size of all blocks, as total_bytes() counts them.
inline CallClass class_of(const CallKey& key, std::int64_t bytes) {
    const auto bits = [](auto value, int place) {
        return static_cast<std::uint64_t>(value) << place;
    };
    const auto& [collective, type, op, root, count, lengths] = key.call;
    return {octaves_of(block_bytes(key.call), bytes) | bits(collective, 16) |
                bits(class_of(collective, type), 24) | bits(class_of(collective, op), 32) |
                bits(key.in_place, 40) | bits(key.mode, 48) | bits(key.has_lengths, 56),
            bits(static_cast<std::uint32_t>(root.index), 0) |
                bits(static_cast<std::uint32_t>(key.arena()), 32)};
}

/// Returns the key of all calls that one plan serves, whatever their type and operation. Making a
/// plan is collective: either all ranks find the key in their cache or none does.
inline CallKey of_plan(CallKey key) {
    key = of_octave(key);
    key.call.type = DataType::uint8;
    key.call.op = Op::sum;
    key.has_lengths = false;
    key.arm = -1;
    return key;
}

/// Returns the name of the call, which ends with _v if its blocks have different lengths.
inline std::string name_of_call(Collective collective, bool has_lengths) {
    return std::string(name_of(collective)) + (has_lengths ? "_v" : "");
}

/// Returns the call with the default operation and root where its collective has none. All barriers
/// are the same call, with a token of one element.
inline Call comparable(Call call) {
    if (!has_buffers(call.collective))
        return {.collective = call.collective, .type = DataType::uint64};
    if (!reduces(call.collective)) call.op = Op::sum;
    if (!has_root(call.collective)) call.root = Rank{0};
    return call;
}

struct HashOfCallKey {
    std::size_t operator()(const CallKey& key) const noexcept {
        std::uint64_t hash = 0;
        const auto mix = [&hash](std::uint64_t word) {
            hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
            hash ^= hash >> 32;
        };
        const auto small = [](auto value) { return static_cast<std::uint64_t>(value) & 0xff; };
        mix(static_cast<std::uint64_t>(key.call.count));
        mix(small(key.call.collective) | small(key.call.type) << 8 | small(key.call.op) << 16 |
            small(key.in_place) << 24 | small(key.mode) << 32 |
            static_cast<std::uint64_t>(static_cast<std::uint16_t>(key.arm)) << 40 |
            small(key.has_lengths) << 56);
        mix(static_cast<std::uint64_t>(key.call.root.index) |
            static_cast<std::uint64_t>(static_cast<std::uint16_t>(key.input.arena)) << 32 |
            static_cast<std::uint64_t>(static_cast<std::uint16_t>(key.output.arena)) << 48);
        if (key.is_registered()) mix(key.input.offset * 31 + key.output.offset);
        return hash;
    }
};

}  // namespace tutti
