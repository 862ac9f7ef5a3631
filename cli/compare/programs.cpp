// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "base/source.hpp"
#include "cli/compare/child.hpp"
#include "cli/compare/launches.hpp"
#include "results/comparison/quad_loop.hpp"

namespace tutti {
namespace {

constexpr std::size_t longest_line = 4096;

using Values = std::vector<std::pair<std::string, double>>;

double number_of(const std::string& text, const std::string& metric) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || !(number > 0))
        throw Error(
            fmt::format("--metric '{}' finds '{}', which is no number above 0; let its last "
                        "group be the number alone",
                        metric, printable(text)));
    return number;
}

double value_at(const std::string& output, const std::string& pointer) {
    try {
        const auto all = nlohmann::json::parse(output);
        const auto& value = all.at(nlohmann::json::json_pointer(pointer));
        if (value.is_number() && value.get<double>() > 0) return value.get<double>();
        // To copy or to print a list takes a stack frame for each list within another.
        throw Error(fmt::format("--metric '{}' leads to {}, which is no number above 0", pointer,
                                value.is_structured() ? value.type_name() : value.dump()));
    } catch (const nlohmann::json::exception& error) {
        throw Error(fmt::format("--metric '{}' leads nowhere in what the program prints: {}",
                                pointer, error.what()));
    }
}

Values matches_in(const std::string& output, const std::string& metric) {
    std::regex pattern;
    try {
        pattern = metric;
    } catch (const std::regex_error& error) {
        throw Error(
            fmt::format("--metric '{}' is no regular expression: {}", metric, error.what()));
    }
    if (pattern.mark_count() < 1 || pattern.mark_count() > 2)
        throw Error(
            fmt::format("--metric '{}' has {} groups; type one (the number), or two (a name "
                        "and the number)",
                        metric, pattern.mark_count()));
    Values values;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (line.size() > longest_line)
            continue;  // the library's search takes a stack frame a character
        if (!std::regex_search(line, match, pattern)) continue;
        const bool is_named = pattern.mark_count() == 2;
        values.emplace_back(is_named ? match[1].str() : metric,
                            number_of(match[is_named ? 2 : 1].str(), metric));
        if (!is_named) break;
    }
    if (values.empty())
        throw Error(
            fmt::format("--metric '{}' matches no line of what the program prints", metric));
    return values;
}

Values run_once(const Programs& programs, const char* name, const Command& command) {
    Child child(command.words, command.environment);
    const auto code = child.wait(programs.seconds);
    if (!code)
        throw Error(fmt::format("{} does not end in {:.0f} s: {}", name, programs.seconds,
                                child.last_words()),
                    Exit::time_out);
    if (*code != 0)
        throw Error(fmt::format("{} ended with {}: {}", name, *code, child.last_words()),
                    Exit::wrong_result);
    try {
        return metrics_in(child.output(), programs.metrics);
    } catch (const Error& error) {
        throw Error(fmt::format("{}; {} ended with: {}", error.what(), name, child.last_words()),
                    error.code());
    }
}

}  // namespace

Values metrics_in(const std::string& output, const std::vector<std::string>& metrics) {
    Values values;
    for (const std::string& metric : metrics) {
        if (metric.starts_with('/')) {
            values.emplace_back(metric, value_at(output, metric));
            continue;
        }
        const Values found = matches_in(output, metric);
        values.insert(values.end(), found.begin(), found.end());
    }
    std::map<std::string, int> lines;  // several of one name are told apart by their place
    for (auto& [name, value] : values) {
        name = printable(name);
        if (const int line = ++lines[name]; line > 1) name += fmt::format(" ({})", line);
    }
    return values;
}

LaunchOfBoth Programs::operator()(const WantedMetrics& wanted) const {
    LaunchOfBoth seen;
    std::map<std::string, std::vector<Quad>> quads_of;
    for (QuadLoop loop({.exactly = quads}); loop.goes_on();) {
        const auto quad = loop.quad([this](Side side) {
            return side == Side::a ? run_once(*this, "A", a) : run_once(*this, "B", b);
        });
        const auto add = [&](double Quad::*place, const Values& values) {
            for (const auto& [name, value] : values) {
                if (!wanted.contain(name)) continue;
                auto& of_metric = quads_of[name];
                if (of_metric.empty()) seen.order.push_back(name);
                of_metric.resize(static_cast<std::size_t>(loop.done()), {.a_first = quad.a_first});
                of_metric.back().*place = more_is_better ? 1 / value : value;
            }
        };
        add(&Quad::a1, quad.a1);
        add(&Quad::b1, quad.b1);
        add(&Quad::b2, quad.b2);
        add(&Quad::a2, quad.a2);
    }
    for (const auto& [name, of_metric] : quads_of)
        if (auto summary = summary_of(of_metric)) {
            if (more_is_better) {  // as printed
                summary->a_ns = 1 / summary->a_ns;
                summary->b_ns = 1 / summary->b_ns;
            }
            seen.metrics[name] = *summary;
        } else
            seen.missing[name] = "only one of the two prints it";
    return seen;
}

}  // namespace tutti
