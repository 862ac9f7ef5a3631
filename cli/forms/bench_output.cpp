// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/bench_output.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

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

// The list of formats of other suites.
constexpr Form forms[] = {
    {"nccl-tests", output_like_nccl_tests},
    {"osu", output_like_osu},
};

bool are_of_one_call(const Point& one, const Point& other) {
    const Key &a = one.key, &b = other.key;
    return std::tie(a.dtype, a.op, a.root, a.count, a.blocks) ==
           std::tie(b.dtype, b.op, b.root, b.count, b.blocks);
}

}  // namespace

std::unique_ptr<BenchOutput> make_output(const BenchOptions& options, TableColumns columns) {
    const std::vector<std::string> words = split_list(options.like);
    if (words.empty() || words.front() == "tutti") return own_output(options, columns);
    return find_row(forms, "form", words.front(), {"tutti"})
        .make(options, std::span(words).subspan(1));
}

std::string rows_of_records(BenchOutput& output, std::span<const Point> points,
                            std::span<const Point> launches) {
    const Fastest fastest = fastest_of(launches);
    std::string text;
    for (const auto of_call : stretches(points, are_of_one_call))
        text += output.rows(of_call, fastest);
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

namespace {

// Sort key, the row to show first: wrong results, then times, then skips.
std::pair<int, std::int64_t> rank_of(const TableRow& row, const Fastest& fastest) {
    const Point* out = measured_or_none(row.out_of_place);
    const Point* in = measured_or_none(row.in_place);
    if ((out != nullptr && is_wrong(*out)) || (in != nullptr && is_wrong(*in))) return {0, 0};
    const Point* timed = out != nullptr ? out : in;
    if (timed == nullptr) return {2, 0};
    return {1, fastest.of_all.contains(timed->key) ? -1 : timed->time.p50};
}

}  // namespace

TableRow row_of_fastest(std::span<const Point> points, const Fastest& fastest) {
    const std::vector<TableRow> rows = rows_of(points);
    return *std::ranges::min_element(rows, {},
                                     [&](const TableRow& row) { return rank_of(row, fastest); });
}

std::string skips_of(const TableRow& row) {
    const bool out = row.out_of_place != nullptr && row.out_of_place->skipped;
    const bool in = row.in_place != nullptr && row.in_place->skipped;
    return !out && !in ? ""
                       : table_row({.out_of_place = out ? row.out_of_place : nullptr,
                                    .in_place = in ? row.in_place : nullptr});
}

}  // namespace tutti
