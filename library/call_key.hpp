// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

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

/// Identifies the calls that one plan serves. Making a plan is collective, so either all ranks find
/// the key in their cache or none does. Thus it contains no addresses of unregistered memory.
struct CallKey {
    Call call;
    bool in_place = false;
    CallMode mode = CallMode::blocking;
    std::int16_t arm = -1;  ///< the configuration to try, if the communicator learns; else -1
    RegisteredPlace input, output;
    bool operator==(const CallKey&) const = default;

    bool is_registered() const { return input.arena >= 0 || output.arena >= 0; }
};

/// Returns the call with the default operation and root where its collective has none.
inline Call comparable(Call call) {
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
            static_cast<std::uint64_t>(static_cast<std::uint16_t>(key.arm)) << 40);
        mix(static_cast<std::uint64_t>(key.call.root.index) |
            static_cast<std::uint64_t>(static_cast<std::uint16_t>(key.input.arena)) << 32 |
            static_cast<std::uint64_t>(static_cast<std::uint16_t>(key.output.arena)) << 48);
        if (key.is_registered()) mix(key.input.offset * 31 + key.output.offset);
        return hash;
    }
};

}  // namespace tutti
