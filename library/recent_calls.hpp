// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "tutti/call_arguments.hpp"
#include "library/learner.hpp"

namespace tutti {

struct CachedPlan;

/// A call that was made lately, and what does it.
struct RecentCall {
    CallArguments given;
    CallBuffers settled;
    CachedPlan* kept = nullptr;     ///< null: none
    Learner::Spot* spot = nullptr;  ///< of one that learns
    Learner::Sort sort = {};        ///< then
    int arm = 0;                    ///< and what does it

    bool is(const CallArguments& other) const {
        const auto is_same = [](const auto& one, const auto& another) {
            return one.data() == another.data() && one.size() == another.size();
        };
        return kept != nullptr && given.call == other.call &&
               is_same(given.buffers.input, other.buffers.input) &&
               is_same(given.buffers.output, other.buffers.output) &&
               given.buffers.in_place == other.buffers.in_place;
    }
};

/// To know calls again without counting lengths and looking up their keys: programs make the same
/// few over and over. Each has one place, which a later one may take.
class RecentCalls {
public:
    /// What is there may be another call.
    RecentCall& place_of(const CallArguments& given) {
        const auto address = reinterpret_cast<std::uintptr_t>(given.buffers.output.data());
        const std::uint64_t mixed =
            (address >> 6) ^ static_cast<std::uint64_t>(given.call.count) * 0x9E3779B97F4A7C15U;
        return calls_[(mixed ^ mixed >> 32) % places];
    }
    /// Where what does calls, or how memory is registered, has changed.
    void forget() { calls_.fill({}); }

private:
    static constexpr std::size_t places = 64;  // a power of two
    std::array<RecentCall, places> calls_;
};

}  // namespace tutti
