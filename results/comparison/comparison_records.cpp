// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/comparison_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.hpp"
#include "base/units.hpp"

namespace tutti {

VerdictRecord record_of(const std::string& metric, const Judgement& judgement, const Rule& rule) {
    const Shift& shift = judgement.shift;
    VerdictRecord record{.metric = metric,
                         .verdict = judgement.change,
                         .ratio = std::exp(shift.estimate),
                         .confidence = rule.confidence,
                         .p = judgement.adjusted_p,
                         .noise = std::expm1(judgement.noise),
                         .higher_is_better = judgement.higher_is_better,
                         .launches = static_cast<int>(shift.n),
                         .rule = judgement.reason};
    if (!std::isinf(shift.low)) {
        record.low = std::exp(shift.low);
        record.high = std::exp(shift.high);
    }
    if (!std::isinf(judgement.visible)) record.visible = judgement.visible;
    return record;
}

namespace {

// Rounds up to what people type: "90s", "7m".
std::string budget_in_words(double seconds) {
    if (seconds <= 120) return fmt::format("{:.0f}s", 10 * std::ceil(seconds / 10));
    return fmt::format("{:.0f}m", std::ceil(seconds / 60));
}

}  // namespace

std::string to_decide(const Judgement& judgement, const Rule& rule, double launch_seconds) {
    if (judgement.change != Change::undecided) return "";
    const Shift& shift = judgement.shift;
    if (shift.n == 0 || std::isinf(shift.low)) return "use a larger --budget, or fewer metrics";
    const double size = std::expm1(std::abs(shift.estimate)), noise = std::expm1(judgement.noise);
    if (size > rule.min_effect && size <= noise)
        return fmt::format(
            "use a quieter machine, because the same program differs from itself by {:.1f} %",
            100 * noise);
    if (is_as_narrow_as_needed(judgement, rule))
        return fmt::format(
            "use another --min-effect, because the change is about as large as {:.3g} %",
            100 * rule.min_effect);
    constexpr double least_growth = 1.5, first_stage = 7, second_stage = 12, day = 24 * 3600;
    const double factor = more_launches(judgement, rule).value_or(1e9);
    const double fresh =
        std::max(second_stage, static_cast<double>(shift.n) * std::max(factor, least_growth));
    const double launches = first_stage + fresh, seconds = launches * launch_seconds;
    if (fresh <= most_launches && launch_seconds == 0)
        return fmt::format("use a larger --budget, for about {:.0f} launches", launches);
    if (fresh <= most_launches && seconds < day)
        return fmt::format("use --budget {} (about {:.0f} launches)", budget_in_words(seconds),
                           launches);
    return "use a quieter machine or another --min-effect";
}

bool would_profit_from_huge_pages(const std::string& metric, const std::string& setting) {
    constexpr std::int64_t least = 256 << 10;
    if (setting.find("[never]") == std::string::npos && setting.find("[deny]") == std::string::npos)
        return false;
    std::istringstream words(metric);
    std::string collective, size;
    words >> collective >> size;
    try {
        return parse_bytes(size).count >= least;
    } catch (const Error&) {  // a metric without a size
        return false;
    }
}

}  // namespace tutti
