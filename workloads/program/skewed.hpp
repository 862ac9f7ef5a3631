// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/program/program.hpp"

namespace tutti {

/// How ranks that would be alike differ: what is drawn is drawn for each rank and step.
struct Skew {
    std::int64_t late_ns = 0;  ///< a rank begins its step up to so late, uniformly
    double share = 0;          ///< its computing takes up to such a share longer, uniformly
    std::optional<Rank> slow = {};
    double slow_factor = 1;  ///< that rank's computing takes so many times as long
    std::uint64_t seed = 1;

    bool is_none() const { return late_ns == 0 && share == 0 && !slow; }
    /// "skew=2ms slow-rank=1:3"; empty for none.
    std::string in_words() const;
    bool operator==(const Skew&) const = default;
};

/// Of --skew: "2ms" is a time, "10%" a share. Sets what it says. Throws Error for anything else.
void parse_skew(std::string_view text, Skew& skew);
/// Of --slow-rank: "1:3" is rank 1, three times as slow. As above.
void parse_slow_rank(std::string_view text, Skew& skew);

/// The same program with the times of ranks that differ, for 16 steps, which then come again, and
/// at least all recorded ones. Throws Error if the slow rank is none of the program's.
Program skewed(const Program& program, const Skew& skew);

}  // namespace tutti
