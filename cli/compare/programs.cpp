// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/compare/launches.hpp"
#include "cli/jobs/job.hpp"
#include "results/comparison/quad_loop.hpp"

namespace tutti {
namespace {

bool is_measured(const std::string& metric) { return metric == wall_time || metric == cpu_time; }

const char* name_of(Side side) { return side == Side::a ? "A" : "B"; }

// Returns the four runs of a quad, each with its side.
std::array<std::pair<Side, const PrintedMetrics*>, 4> runs_of(const QuadOf<PrintedMetrics>& quad) {
    return {{{Side::a, &quad.a1}, {Side::b, &quad.b1}, {Side::b, &quad.b2}, {Side::a, &quad.a2}}};
}

// Returns why a metric cannot be compared; empty if every run has printed a usable number.
std::string trouble_with(const std::string& metric,
                         const std::vector<QuadOf<PrintedMetrics>>& quads, bool is_known) {
    std::map<Side, int> runs, missing;
    for (const auto& quad : quads)
        for (const auto& [side, printed] : runs_of(quad)) {
            ++runs[side];
            const auto found = printed->readings.find(metric);
            if (found == printed->readings.end())
                ++missing[side];
            else if (!found->second.trouble.empty())
                return fmt::format("{} printed {}", name_of(side), found->second.trouble);
        }
    for (const auto& [side, count] : missing) {
        if (count == runs[side] && !is_known) return "only one of the two programs printed it";
        return fmt::format("{} did not print it in {} of {} runs", name_of(side), count,
                           runs[side]);
    }
    return "";
}

}  // namespace

double Programs::most_seconds(double seconds_left) const {
    constexpr double least_past_budget = 3;
    const double past_budget = std::max(3 * longest_run_seconds_, least_past_budget);
    return std::min(run_limit(), std::max(seconds_left, past_budget));
}

double Programs::run_limit() const {
    constexpr double least = 10, most_of_first = 600;
    if (run_timeout > 0) return run_timeout;
    return longest_run_seconds_ == 0 ? most_of_first : std::max(10 * longest_run_seconds_, least);
}

// Returns the end of the error message about a killed run.
std::string Programs::advice(double seconds, const std::string& last_words) const {
    std::string text;
    if (longest_run_seconds_ > 0)
        text += fmt::format(" (the longest run before it took {:.2g} s)", longest_run_seconds_);
    text += "; if it did not hang, use a larger --run-timeout";
    if (seconds < run_limit()) text += " and --budget";
    return text + (last_words.empty() ? "" : ". Its last output: " + last_words);
}

PrintedMetrics Programs::run_once(Side side, double seconds_left) {
    const double seconds = most_seconds(seconds_left);
    const Command& command = side == Side::a ? a : b;
    const std::int64_t began_ns = now_ns();
    Child child(command);
    const auto code = child.wait(seconds);
    if (!code)
        throw Error(fmt::format("{} did not end within {:.1f} s and was killed{}", name_of(side),
                                seconds, advice(seconds, child.last_words())),
                    Exit::time_out);
    if (*code != 0)
        throw Error(fmt::format("{} ended with {}: {}", name_of(side), *code, child.last_words()),
                    Exit::wrong_result);
    const double wall_seconds = seconds_since(began_ns);
    longest_run_seconds_ = std::max(longest_run_seconds_, wall_seconds);
    largest_cpu_share_ = std::max(largest_cpu_share_, child.cpu_seconds() / wall_seconds);
    std::vector<std::string> searched = metrics;
    std::erase_if(searched, is_measured);
    PrintedMetrics printed = metrics_in(child.output(), child.errors(), searched);
    for (auto& [name, reading] : printed.readings)
        if (reading.trouble.empty() && reading.unit.empty() && !default_unit.empty())
            static_cast<PrintedNumber&>(reading) = with_unit(reading.value, default_unit).value();
    for (const std::string& name : metrics) {
        if (!is_measured(name)) continue;
        const double seconds_of_it = name == cpu_time ? child.cpu_seconds() : wall_seconds;
        printed.order.push_back(name);
        printed.readings[name] = {{1e9 * seconds_of_it, "ns"},
                                  seconds_of_it > 0 ? "" : "no time that could be measured"};
    }
    for (const auto& [metric, how] : printed.misused) {
        // One run may lack the metric. If the first four runs all lack it, the option is wrong.
        if (++misused_[metric] == 4 && runs_ < 4)
            throw Error(
                fmt::format("{}; {} ended with: {}", how, name_of(side), child.last_words()));
    }
    if (printed.long_lines > 0 && !has_long_lines_) {
        has_long_lines_ = true;
        fmt::print(stderr,
                   "tutti: {} printed {} lines over {} bytes, which --metric does not search\n",
                   name_of(side), printed.long_lines, longest_searched_line);
    }
    in_first_units(printed);
    ++runs_;
    return printed;
}

// Converts each reading to the unit in which its metric was printed first.
void Programs::in_first_units(PrintedMetrics& printed) {
    for (auto& [name, reading] : printed.readings) {
        if (!reading.trouble.empty()) continue;
        const std::string& unit = units_.emplace(name, reading.unit).first->second;
        if (const auto value = converted(reading, unit))
            reading.value = *value;
        else
            reading.trouble =
                fmt::format("a number {}, {} in an earlier run",
                            reading.unit.empty() ? "without a unit" : "in " + reading.unit,
                            unit.empty() ? "which had none" : "which was in " + unit);
    }
}

LaunchOfBoth Programs::operator()(const WantedMetrics& wanted) {
    const std::int64_t began_ns = now_ns();
    const auto seconds_left = [&] { return wanted.seconds_left - seconds_since(began_ns); };
    LaunchOfBoth seen;
    std::vector<QuadOf<PrintedMetrics>> printed;
    for (QuadLoop loop({.exactly = quads}); loop.goes_on();) {
        printed.push_back(loop.quad([&](Side side) {
            seen.is_cut_short = seen.is_cut_short || seconds_left() < -longest_run_seconds_ - 2;
            return seen.is_cut_short ? PrintedMetrics{} : run_once(side, seconds_left());
        }));
        if (seen.is_cut_short) return seen;
    }
    const std::set<std::string> known = names_;
    for (const auto& quad : printed)
        for (const auto& [side, run] : runs_of(quad))
            for (const std::string& name : run->order)
                if (names_.insert(name).second) order_.push_back(name);
    for (const std::string& name : order_) {
        if (!wanted.contain(name)) continue;
        if (std::string why = trouble_with(name, printed, known.contains(name)); !why.empty()) {
            seen.dropped[name] = std::move(why);
            continue;
        }
        std::vector<Quad> of_metric;
        for (const auto& quad : printed) {
            const auto value = [&](const PrintedMetrics& run) {
                return run.readings.at(name).value;
            };
            of_metric.push_back({.a1 = value(quad.a1),
                                 .b1 = value(quad.b1),
                                 .b2 = value(quad.b2),
                                 .a2 = value(quad.a2),
                                 .a_first = quad.a_first});
        }
        LaunchOfMetric summary = summary_of(of_metric).value();
        summary.unit = units_.at(name);
        summary.higher_is_better =
            !is_measured(name) && more_is_better.value_or(is_rate(summary.unit));
        seen.order.push_back(name);
        seen.metrics[name] = std::move(summary);
    }
    return seen;
}

}  // namespace tutti
