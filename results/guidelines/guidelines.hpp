// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "results/guidelines/log_estimate.hpp"
#include "results/records/reader.hpp"

namespace tutti {

// Performance guidelines: a collective should not take longer than other calls that do the same.
// The rules are those of Traeff, Gropp and Thakur ("Self-Consistent MPI Performance Guidelines",
// IEEE Trans. Parallel Distrib. Syst. 21, 2010) and of Hunold, Carpen-Amarie, Luebbe and Traeff
// (PGMPI, 2016). They need no model of the machine. Sizes are those of
// results/statistics/bandwidth.hpp, so both sides of a rule have the same size.

/// A rule: the left call should not take longer than those on the right together.
struct Guideline {
    Collective left;
    std::vector<Collective> right;

    std::string words() const;
};

const std::vector<Guideline>& all_guidelines();
inline constexpr std::string_view monotone_rule = "time(n) <= time(m) for n < m";
inline constexpr std::string_view split_rule = "time(k n) <= k time(n)";

/// Everything besides the call itself that has to be equal where times are compared.
struct GuidelineSetting {
    std::string machine, libraries, environment;
    int nranks = 1, ppn = 1;
    std::string placement;
    DataType dtype = DataType::float32;
    std::string buf, input;
    bool inplace = false;
    std::string start;  ///< "barrier last_arrival"

    /// Whether calls start by a barrier: ranks leave it at different times, so a rank that comes
    /// late may find a rooted call done.
    bool is_by_barrier() const { return start.starts_with("barrier"); }
    /// Whether many calls are timed as one: a root may then be ahead of the others.
    bool is_in_rows() const { return start.starts_with("b2b"); }
    auto operator<=>(const GuidelineSetting&) const = default;
};

void walk(auto& f, Is<GuidelineSetting> auto& setting) {
    f.must("machine", setting.machine);
    f.must("libraries", setting.libraries);
    f.must("environment", setting.environment);
    f.must("nranks", setting.nranks);
    f.must("ppn", setting.ppn);
    f.must("placement", setting.placement);
    f.must("dtype", setting.dtype);
    f.must("buf", setting.buf);
    f.must("input", setting.input);
    f.must("inplace", setting.inplace);
    f.must("start", setting.start);
}

/// One collective in one setting.
struct GuidelineCall {
    GuidelineSetting setting;
    Collective coll = Collective::all_reduce;
    std::optional<Op> op;
    std::optional<Rank> root;

    auto operator<=>(const GuidelineCall&) const = default;
};

/// The estimate of each launch, by session and number.
using EstimatesByLaunch = std::map<std::pair<std::string, int>, LogEstimate>;
/// The times of a candidate by call and size in bytes.
using GuidelineTimes = std::map<GuidelineCall, std::map<std::int64_t, EstimatesByLaunch>>;

/// A guideline at one size.
struct GuidelineCheck {
    std::string candidate, guideline, words;
    GuidelineCall call;
    std::int64_t size = 0;
    LogEstimate ratio;  ///< of the time of the call over that of the others
    double takes_ns = 0, would_take_ns = 0;
    std::size_t launches = 0;  ///< the fewest of all compared calls
    bool is_comparable =
        true;  ///< false: one launch of each, and launches differ by an unknown amount

    // The verdict, see judge().
    std::string_view verdict = "undecided";  ///< or violated, kept
    double low = 0, high = 0;                ///< the 95 % interval of the ratio
    double p = 1;                            ///< adjusted for all checks
};

struct UncheckedGuideline {
    std::string candidate, guideline, reason;
    std::vector<std::string>
        missing;  ///< collectives that were not measured, if that is the reason
};

struct GuidelineChecks {
    std::vector<GuidelineCheck> checks;
    std::vector<UncheckedGuideline> unchecked;
};

/// Returns the libraries in the points, with their own choice of algorithms.
std::vector<std::string> libraries_in(const std::vector<Point>& points);
/// Returns each library, what chooses at run time, and "best" (the fastest algorithm per size).
std::vector<std::string> guideline_candidates(const std::vector<Point>& points);
/// Returns all names of candidates of tutti.
std::vector<std::string> own_candidates(const std::vector<Point>& points);

/// Returns the times of a candidate. Throws Error for impossible sizes, ranks or times.
GuidelineTimes guideline_times(const std::string& candidate, const Results& results);

/// Checks all guidelines, without verdicts.
GuidelineChecks check_guidelines(const std::string& candidate, const GuidelineTimes& times);

/// Sets the verdicts and sorts by the ratio, the largest first. "violated" are those whose ratio is
/// above 1 + tolerance by more than chance, at a level of 5 % for all checks together (Holm).
void judge(std::vector<GuidelineCheck>& checks, double tolerance);

}  // namespace tutti
