// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>

#include "results/comparison_records.hpp"

namespace tutti {

// Names come from what programs print. Bencher refuses names of more than 1,024 bytes, GitHub's
// pages and annotations are limited as a whole.
constexpr std::size_t longest_name = 250;
constexpr std::size_t longest_message = 1000;

/// A metric's name, the same in all views: not empty, UTF-8 without control characters, of at most
/// longest_name bytes. One that had to be changed for that ends with a hash: what was two remains
/// two.
std::string name_in_views(const VerdictRecord& verdict);
std::string name_in_views(const std::string& metric);

/// UTF-8 of at most longest_message bytes; it may have several lines.
std::string message_in_views(const std::string& text);

/// With no more digits than the noise (0.01: 1 %) leaves: GitLab compares metrics as texts.
double rounded_to_noise(double value, double noise);

/// Relative and without "./", as GitLab wants the paths of a project; of one outside, its name.
std::string path_in_project(const std::string& file);

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
