// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/printed_metrics.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "base/source.hpp"

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

}  // namespace tutti
