// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>

#include "results/comparison_records.hpp"

namespace tutti {

inline bool has_interval(const VerdictRecord& verdict) { return verdict.high > 0; }

inline bool is_in_ns(const VerdictRecord& verdict) { return verdict.unit == "ns"; }

/// Of all metrics: a summary, which fails nothing.
inline bool is_mean(const VerdictRecord& verdict) { return verdict.b_ns == 0; }

/// "+5.3 %"
inline std::string change_in_words(const VerdictRecord& verdict) {
    return fmt::format("{:+.1f} %", 100 * (verdict.ratio - 1));
}

/// "+4.1 % .. +6.6 %"
inline std::string interval_in_words(const VerdictRecord& verdict) {
    if (!has_interval(verdict)) return "too few launches for an interval";
    return fmt::format("{:+.1f} % .. {:+.1f} %", 100 * (verdict.low - 1), 100 * (verdict.high - 1));
}

}  // namespace tutti
