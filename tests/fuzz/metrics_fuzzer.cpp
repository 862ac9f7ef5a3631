// SPDX-License-Identifier: Apache-2.0
// The first line is a JSON pointer (/a/0/time) or the number of an expression; the rest is the
// output of a program. Finding metrics gives numbers > 0, a reason for each other number, or a
// one-line error.
#include <algorithm>
#include <array>

#include "results/comparison/printed_metrics.hpp"
#include "tests/fuzz/demand.hpp"

namespace {

using namespace tutti;

// Expressions of a user, whose time is not limited; that for output of programs is.
constexpr std::array expressions{R"(time: ([0-9.e+-]+) s)", R"(^(\w+) .* (\S+)$)",
                                 R"((?:x|y)=(.*),)", R"(([^ ]+) +(-?[0-9]+))"};

std::string metric_in(std::string_view first_line) {
    if (first_line.starts_with('/')) return std::string(first_line);
    return expressions.at(
        first_line.empty() ? 0 : static_cast<unsigned char>(first_line[0]) % expressions.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t enough = 1024;  // expressions are slow
    if (size > enough) return 0;
    const std::string_view text = text_of(data, size);
    const std::string_view first_line = text.substr(0, text.find('\n'));
    const std::string output(text.substr(std::min(first_line.size() + 1, text.size())));
    try {
        for (const auto& [name, reading] :
             metrics_in(output, output, {metric_in(first_line)}).readings) {
            demand((reading.value > 0) == reading.trouble.empty(),
                   "a metric is above 0, or has a reason");
            demand(name.find('\n') == std::string::npos, "its name is one line");
        }
    } catch (const Error& error) {
        demand_one_line(error);
    }
    return 0;
}
