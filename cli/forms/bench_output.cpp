// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/bench_output.hpp"

#include <algorithm>
#include <tuple>

#include "base/name_table.hpp"
#include "base/stretches.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

struct Form {
    std::string_view name;
    std::unique_ptr<BenchOutput> (*make)(const BenchOptions& options,
                                         std::span<const std::string> details);
};

// The one place where forms of other suites are listed.
constexpr Form forms[] = {
    {"nccl-tests", output_like_nccl_tests},
    {"osu", output_like_osu},
};

bool are_of_one_call(const Point& one, const Point& other) {
    const Key &a = one.key, &b = other.key;
    return std::tie(a.dtype, a.op, a.root, a.count) == std::tie(b.dtype, b.op, b.root, b.count);
}

}  // namespace

std::unique_ptr<BenchOutput> make_output(const BenchOptions& options, TableColumns columns) {
    const std::vector<std::string> words = split_list(options.like);
    if (words.empty() || words.front() == "tutti") return own_output(options, columns);
    return find_row(forms, "form", words.front(), {"tutti"})
        .make(options, std::span(words).subspan(1));
}

std::string rows_of_records(BenchOutput& output, std::span<const Point> points) {
    std::string text;
    for (const auto of_call : stretches(points, are_of_one_call)) text += output.rows(of_call);
    return text;
}

std::size_t candidates_of(std::span<const Point> points) {
    const auto are_compared = [](const Point& one, const Point& other) {
        return are_of_one_call(one, other) && one.key.buf == other.key.buf;
    };
    std::size_t most = 0;
    for (const auto compared : stretches(points, are_compared))
        most = std::max(most, rows_of(compared).size());
    return most;
}

}  // namespace tutti
