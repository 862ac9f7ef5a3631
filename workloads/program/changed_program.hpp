// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/program/program.hpp"

namespace tutti {

/// Random and systematic differences between ranks; drawn anew for each rank and step.
struct Skew {
    std::int64_t late_ns = 0;  ///< a rank begins its step up to so late, uniformly
    double share = 0;          ///< its computing takes up to such a share longer, uniformly
    std::optional<Rank> slow = {};
    double slow_factor = 1;  ///< that rank's computing takes so many times as long
    std::uint64_t seed = 1;

    /// How many times as long this rank computes.
    double factor_of(Rank rank) const { return slow == rank ? slow_factor : 1; }
    bool is_none() const { return late_ns == 0 && share == 0 && !slow; }
    /// "skew=2ms slow-rank=1:3"; empty for none.
    std::string in_words() const;
    bool operator==(const Skew&) const = default;
};

/// `skew` with what --skew says: "2ms" is a time, "10%" a share. Throws Error for anything else.
Skew with_skew(Skew skew, std::string_view text);
/// `skew` with what --slow-rank says: "1:3" is rank 1, three times as slow. Throws Error likewise.
Skew with_slow_rank(Skew skew, std::string_view text);

/// The program with skewed times for 16 steps, which then repeat, and at least all recorded ones.
/// Throws Error if the slow rank is not one of the program's.
Program skewed(const Program& program, const Skew& skew);

/// All computing takes `factor` times as long.
void stretch(Program& program, double factor);

/// `times` steps in a row as one step; recorded times go on as they would step by step.
Program repeated(const Program& program, int times);

}  // namespace tutti
