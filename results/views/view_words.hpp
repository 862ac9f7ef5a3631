// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "results/comparison/comparison_records.hpp"
#include "results/views/views.hpp"

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

/// Makes a text safe for a printed line: no control character and no line's end, and nothing
/// that the log of a CI system would obey ("::word::" after leading blanks, "##[word]" or
/// "##vso[" anywhere).
std::string in_line(const std::string& text);

/// Makes a text safe for a cell of a Markdown table: a name cannot end its cell, be taken for HTML,
/// a link, a picture or a formula, or call someone. An invisible space keeps "@name" and "#1" from
/// what GitHub makes of them.
std::string in_cell(const std::string& text);

/// "2026-01-31T12:00:00" of a session, in UTC; what is no such time is the begin of 1970.
std::string time_in_views(const std::string& t);

/// UTF-8 of at most longest_message bytes; it may have several lines.
std::string message_in_views(const std::string& text);

/// Rounds to the digits above the noise (0.01: 1 %), because GitLab compares metrics as texts.
double rounded_to_noise(double value, double noise);

/// Relative and without "./", as GitLab wants the paths of a project; of one outside, its name.
std::string path_in_project(const std::string& file);

inline bool has_interval(const VerdictRecord& verdict) { return verdict.high > 0; }

inline bool is_in_ns(const VerdictRecord& verdict) { return verdict.unit == "ns"; }

/// Returns a time, or a number of a program in its own unit: "12.5 us", "18.3 GB/s", "3".
std::string number_in_words(double value, const std::string& unit);

/// A unit in which a time has a short number.
struct TimeUnit {
    const char* name;
    double ns;
};
TimeUnit time_unit_for(double ns);

/// "12.51 us" or "18.3 GB/s" of a median of A or B; empty for 0.
std::string value_in_words(double value, const VerdictRecord& verdict);

/// "120 ms instead of 100 ms, +20.0 % (+19.0 % .. +21.0 %)"
std::string change_with_values(const VerdictRecord& verdict);

/// "a change of 6.3 % or more would have been seen; use --budget 7m (about 84 launches)" of an
/// undecided metric.
std::string open_question(const VerdictRecord& verdict);

/// Returns undecided metrics in their order.
std::vector<VerdictRecord> undecided_ones(const ComparisonRecords& comparison);

/// Whether the verdict is about the mean of all metrics, which fails nothing.
inline bool is_mean(const VerdictRecord& verdict) { return verdict.b_ns == 0; }

/// "3.0 %" of 0.03
inline std::string size_in_words(double size) { return fmt::format("{:.1f} %", 100 * size); }

/// Three digits and the unit that suits: "850 ns", "12.0 us", "4.56 ms".
std::string time_in_words(double ns);

/// "+5.3 %", of a ratio's logarithm.
inline std::string change_in_words(double logarithm) {
    return fmt::format("{:+.1f} %", 100 * std::expm1(logarithm));
}
inline std::string change_in_words(const VerdictRecord& verdict) {
    return change_in_words(std::log(verdict.ratio));
}

inline std::string noise_in_words(const VerdictRecord& verdict) {
    return size_in_words(verdict.noise);
}

/// "+4.1 % .. +6.6 %"
inline std::string interval_in_words(const VerdictRecord& verdict) {
    if (!has_interval(verdict)) return "too few launches";
    return change_in_words(std::log(verdict.low)) + " .. " +
           change_in_words(std::log(verdict.high));
}

/// Returns the interval, and how it was found unless the jobs alternated.
inline std::string basis_in_words(const VerdictRecord& verdict) {
    return interval_in_words(verdict) + (verdict.method == Pairing::stored
                                             ? "; against a stored baseline, which is weaker"
                                             : "");
}

/// "all_reduce 1M busbw at least 20 GB/s: 18.3 GB/s by all_reduce 1M float sum registered ring
/// (shm), the worst of 3"
inline std::string floor_in_words(const FloorRecord& floor) {
    return fmt::format("{}: {:.4g} {} by {}{}", floor.asked, floor.value, floor.unit, floor.metric,
                       floor.metrics > 1 ? fmt::format(", the worst of {}", floor.metrics) : "");
}

inline bool any_missed(const ComparisonRecords& comparison) {
    return std::ranges::any_of(comparison.floors,
                               [](const FloorRecord& floor) { return !floor.met; });
}

/// Whether nothing was compared: no metric, no floor, and no wrong result ended it.
inline bool has_nothing(const ComparisonRecords& comparison) {
    return comparison.verdicts.empty() && comparison.floors.empty() && comparison.wrong.empty();
}
constexpr const char* nothing_compared =
    "no metric could be compared; see the lines '# not compared' of the output";

inline bool is_stored(const ComparisonRecords& comparison) {
    return !comparison.verdicts.empty() && comparison.verdicts.front().method == Pairing::stored;
}

/// Returns what weakens the verdicts, a line each.
inline std::vector<std::string> cautions(const ComparisonRecords& comparison) {
    std::vector<std::string> lines;
    if (!is_stored(comparison)) return lines;
    lines.emplace_back(
        "stored: A and B were measured at different times, which is weaker than both at once");
    for (const std::string& field : comparison.verdicts.front().ignored)
        lines.push_back("although it differs: " + field);
    return lines;
}

}  // namespace tutti
