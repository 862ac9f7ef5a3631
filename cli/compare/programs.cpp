// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/source.hpp"
#include "cli/compare/child.hpp"
#include "cli/compare/launches.hpp"
#include "results/comparison/quad_loop.hpp"

namespace tutti {
namespace {

constexpr std::size_t longest_line = 4096;

// Ratios of numbers outside of these limits could overflow.
constexpr double least_number = 1e-100, most_number = 1e100;

Reading reading_of(double number, const std::string& text) {
    if (number >= least_number && number <= most_number) return {.value = number};
    return {.trouble =
                fmt::format("'{}', which is not a number from 1e-100 to 1e100", printable(text))};
}

// Reads one metric from the output of a run.
class MetricReader {
public:
    MetricReader(const std::string& metric, PrintedMetrics& printed)
        : metric_(metric), printed_(printed) {}

    void look_into_json(const std::string& output) {
        try {
            const auto all = nlohmann::json::parse(output);
            const auto& value = all.at(nlohmann::json::json_pointer(metric_));
            if (value.is_number()) return add(metric_, reading_of(value, value.dump()));
            // A nested list is not printed: that takes a stack frame for each level.
            misused(fmt::format("points to {}, which is not a number",
                                value.is_structured() ? value.type_name() : value.dump()));
        } catch (const nlohmann::json::exception& error) {
            constexpr int number_overflow = 406;
            if (error.id == number_overflow)
                add(metric_, {.trouble = fmt::format("JSON with a number that is too large: {}",
                                                     error.what())});
            else
                misused(fmt::format("does not match the program's output: {}", error.what()));
        }
    }

    void look_at_lines(const std::string& output) {
        const std::regex pattern = expression();
        const bool is_named = pattern.mark_count() == 2;
        bool matches = false;
        std::istringstream lines(output);
        for (std::string line; std::getline(lines, line);) {
            std::smatch match;
            if (line.size() > longest_line)
                continue;  // std::regex takes a stack frame per character
            if (!std::regex_search(line, match, pattern)) continue;
            matches = true;
            look_at(is_named ? match[1].str() : metric_, match[is_named ? 2 : 1].str());
            if (!is_named) break;
        }
        if (!matches) misused("matches no line of the program's output");
    }

private:
    std::regex expression() const {
        std::regex pattern;
        try {
            pattern = metric_;
        } catch (const std::regex_error& error) {
            throw Error(fmt::format("--metric '{}' is not a valid regular expression: {}", metric_,
                                    error.what()));
        }
        if (pattern.mark_count() < 1 || pattern.mark_count() > 2)
            throw Error(
                fmt::format("--metric '{}' has {} groups; use one (the number) or two (a name and "
                            "the number)",
                            metric_, pattern.mark_count()));
        return pattern;
    }

    void look_at(const std::string& name, const std::string& text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        // A number that is too large or too small for a double leaves 0.
        if ((error == std::errc{} || error == std::errc::result_out_of_range) &&
            end == text.data() + text.size())
            return add(name, reading_of(number, text));
        add(name, {.trouble = fmt::format("'{}', which is not a number", printable(text))});
        misused(
            fmt::format("captures '{}', which is not a number; use a last group that matches "
                        "only the number",
                        printable(text)));
    }

    // Numbers readings of the same name: NAME, NAME (2), NAME (3).
    void add(const std::string& metric, Reading reading) {
        std::string name = printable(metric);
        if (const int line = ++printed_.lines[name]; line > 1) name += fmt::format(" ({})", line);
        printed_.order.push_back(name);
        printed_.readings.insert_or_assign(name, std::move(reading));
    }

    void misused(const std::string& how) {
        printed_.misused.emplace(metric_, fmt::format("--metric '{}' {}", metric_, how));
    }

    const std::string& metric_;
    PrintedMetrics& printed_;
};

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

PrintedMetrics metrics_in(const std::string& output, const std::vector<std::string>& metrics) {
    PrintedMetrics printed;
    for (const std::string& metric : metrics) {
        MetricReader reader(metric, printed);
        if (metric.starts_with('/'))
            reader.look_into_json(output);
        else
            reader.look_at_lines(output);
    }
    return printed;
}

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
    Child child(command.words, command.environment);
    const auto code = child.wait(seconds);
    if (!code)
        throw Error(fmt::format("{} did not end within {:.1f} s and was killed{}", name_of(side),
                                seconds, advice(seconds, child.last_words())),
                    Exit::time_out);
    if (*code != 0)
        throw Error(fmt::format("{} ended with {}: {}", name_of(side), *code, child.last_words()),
                    Exit::wrong_result);
    longest_run_seconds_ = std::max(longest_run_seconds_, seconds_since(began_ns));
    PrintedMetrics printed = metrics_in(child.output(), metrics);
    for (const auto& [metric, how] : printed.misused) {
        // One run may lack the metric. If the first four runs all lack it, the option is wrong.
        if (++misused_[metric] == 4 && runs_ < 4)
            throw Error(
                fmt::format("{}; {} ended with: {}", how, name_of(side), child.last_words()));
    }
    ++runs_;
    return printed;
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
                const double number = run.readings.at(name).value;
                return more_is_better ? 1 / number : number;
            };
            of_metric.push_back({.a1 = value(quad.a1),
                                 .b1 = value(quad.b1),
                                 .b2 = value(quad.b2),
                                 .a2 = value(quad.a2),
                                 .a_first = quad.a_first});
        }
        LaunchOfMetric summary = summary_of(of_metric).value();
        if (more_is_better) {  // as printed
            summary.a_ns = 1 / summary.a_ns;
            summary.b_ns = 1 / summary.b_ns;
        }
        seen.order.push_back(name);
        seen.metrics[name] = std::move(summary);
    }
    return seen;
}

}  // namespace tutti
