// SPDX-License-Identifier: Apache-2.0
// tutti's table: for many candidates only the important rows, and the fastest at each size.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/stretches.hpp"
#include "cli/forms/bench_output.hpp"
#include "results/tables/cautions.hpp"
#include "results/tables/slowdowns.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

constexpr std::size_t few_candidates = 4;  // few enough to print all rows

// Selects rows of many candidates at one size and with one kind of buffers.
std::vector<TableRow> rows_that_matter(const std::vector<TableRow>& rows, const Fastest& fastest) {
    const auto matters = [&](const Point* point) {
        return point != nullptr &&
               (is_wrong(*point) || !point->choice.empty() ||
                fastest.of_tutti.contains(point->key) || fastest.of_libraries.contains(point->key));
    };
    std::vector<TableRow> left;
    std::ranges::copy_if(rows, std::back_inserter(left), [&](const TableRow& row) {
        return matters(row.out_of_place) || matters(row.in_place);
    });
    return left.empty() ? rows : left;  // nothing was measured: each row tells why
}

class OwnOutput final : public BenchOutput {
public:
    OwnOutput(const BenchOptions& options, TableColumns columns)
        : options_(options), columns_(columns) {}

    std::string begin(const Launch&, std::span<const std::string> notes,
                      std::size_t candidates) override {
        std::vector<std::string> all(notes.begin(), notes.end());
        if (!options_.all_rows && candidates > few_candidates)
            all.push_back(
                fmt::format("{} candidates: each size shows the fastest and the fastest library; "
                            "--all-rows prints all, --json and --csv store all",
                            candidates));
        return table_header(all, columns_);
    }

    // Formats one block per kind of buffers and aggressor.
    std::string rows(std::span<const Point> points, const Fastest& fastest) override {
        std::string text;
        if (const std::string& blocks = points.front().key.blocks; blocks != blocks_) {
            blocks_ = blocks;
            text += fmt::format("# blocks: {}\n", blocks);
        }
        const auto is_of_kind = [](const Point& one, const Point& other) {
            return one.key.buf == other.key.buf;
        };
        const auto is_beside = [](const Point& one, const Point& other) {
            return one.key.aggressor == other.key.aggressor;
        };
        const auto kinds = stretches(points, is_of_kind);
        for (const auto of_kind : kinds) {
            if (kinds.size() > 1)
                text += fmt::format("# {} buffers\n", name_of_buffers(of_kind.front().key));
            for (const auto beside_one : stretches(of_kind, is_beside)) {
                if (const std::string& beside = beside_one.front().key.aggressor; !beside.empty())
                    text += fmt::format("# next to {}\n", beside);
                text += rows_of_block(beside_one, fastest);
            }
        }
        return text;
    }

    bool shows_limits() const override { return true; }

    std::string end(std::span<const Point> all, const Results& launches) override {
        std::string text = fastest_table(launches.points);
        if (!text.empty()) text += cautions_below(launches.launches, launches.ends);
        text += slowdown_table(launches.points);
        return text + table_footer(all);
    }

private:
    static std::string_view name_of_buffers(const Key& key) {
        const auto* kind = find_in(kinds_in_keys, key.buf);
        return kind == nullptr ? std::string_view(key.buf) : name_of(kind->value);
    }

    std::string rows_of_block(std::span<const Point> points, const Fastest& fastest) const {
        std::vector<TableRow> rows = rows_of(points);
        if (!options_.all_rows && rows.size() > few_candidates)
            rows = rows_that_matter(rows, fastest);
        std::string text;
        for (TableRow& row : rows) {
            if (asks_for_segments_) row.segment = SegmentInName::shown;
            text += table_row(row, columns_);
        }
        return text;
    }

    const BenchOptions& options_;
    TableColumns columns_;
    std::string blocks_;  // rule of the last rows
    bool asks_for_segments_ =
        options_.search_space.values_of(knobs.front()) != SearchSpace{}.values_of(knobs.front());
};

}  // namespace

std::unique_ptr<BenchOutput> own_output(const BenchOptions& options, TableColumns columns) {
    return std::make_unique<OwnOutput>(options, columns);
}

}  // namespace tutti
