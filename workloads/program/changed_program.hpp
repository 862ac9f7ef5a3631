// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/program/program.hpp"

namespace tutti {

/// Random and systematic differences between ranks, drawn for each rank and step.
struct Skew {
    std::int64_t late_ns = 0;  ///< largest delay of a rank's start, drawn uniformly
    double share = 0;          ///< largest extra share of its computing time, drawn uniformly
    std::optional<Rank> slow = {};
    double slow_factor = 1;  ///< factor for that rank's computing time
    std::uint64_t seed = 1;

    /// Returns the factor for this rank's computing time.
    double factor_of(Rank rank) const { return slow == rank ? slow_factor : 1; }
    bool is_none() const { return late_ns == 0 && share == 0 && !slow; }
    /// Returns "skew=2ms slow-rank=1:3"; empty for none.
    std::string to_string() const;
    bool operator==(const Skew&) const = default;
};

/// Returns `skew` changed by a value of --skew: "2ms" is a time, "10%" a share. Throws Error for
/// anything else.
Skew with_skew(Skew skew, std::string_view text);
/// Returns `skew` changed by a value of --slow-rank: "1:3" is rank 1, three times slower. Throws
/// Error likewise.
Skew with_slow_rank(Skew skew, std::string_view text);

/// Returns the program with skewed times for 16 steps, which then repeat, and at least all recorded
/// ones. Throws Error if the slow rank is not one of the program's.
Program skewed(const Program& program, const Skew& skew);

/// Multiplies all computing times by `factor`.
void stretch(Program& program, double factor);

/// Joins `times` consecutive steps to one step; recorded times continue as they would step by step.
Program repeated(const Program& program, int times);

}  // namespace tutti
