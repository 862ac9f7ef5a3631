// SPDX-License-Identifier: Apache-2.0
// tutti's table: of many candidates the rows that matter, and who is fastest at each size.
#include <fmt/format.h>

#include <set>

#include "cli/forms/bench_output.hpp"
#include "results/cautions.hpp"
#include "results/fastest.hpp"

namespace tutti {
namespace {

constexpr std::size_t few_candidates = 4;  // whose rows are read at a glance

// Of the candidates of one size and kind of buffers, whose rows there are.
std::set<std::size_t> shown(const BenchOptions& options, std::span<const Point> points,
                            std::size_t candidates) {
    std::set<std::size_t> all, some;
    for (std::size_t i = 0; i < candidates; ++i) all.insert(i);
    if (options.all_rows || candidates <= few_candidates) return all;
    const auto number_of = [&](const Point* point) {
        return static_cast<std::size_t>(point - points.data()) % candidates;
    };
    for (std::size_t from = 0; from < points.size(); from += candidates) {
        std::vector<const Point*> placed;  // of one placement
        for (const Point& point : points.subspan(from, candidates)) {
            placed.push_back(&point);
            if (is_wrong(point) || !point.choice.empty()) some.insert(number_of(&point));
        }
        const Fastest fastest = fastest_of(placed);
        for (const Point* point : {fastest.best, fastest.library})
            if (point != nullptr) some.insert(number_of(point));
    }
    return some.empty() ? all : some;  // where nothing was measured, each row says why
}

std::string rows_of_kind(const BenchOptions& options, TableColumns columns,
                         std::span<const Point> points) {
    const bool asks_for_segments =
        options.search_space.values_of(knobs.front()) != SearchSpace{}.values_of(knobs.front());
    const std::size_t placements = options.sweep.in_place.size();
    const std::size_t candidates = points.size() / placements;
    std::string text;
    for (const std::size_t i : shown(options, points, candidates)) {
        TableRow row;
        if (asks_for_segments) row.segment = SegmentInName::shown;
        for (std::size_t placement = 0; placement < placements; ++placement) {
            const Point& point = points[placement * candidates + i];
            (point.key.inplace ? row.in_place : row.out_of_place) = &point;
        }
        text += table_row(row, columns);
    }
    return text;
}

class OwnOutput final : public BenchOutput {
public:
    OwnOutput(const BenchOptions& options, TableColumns columns)
        : options_(options), columns_(columns) {}

    std::string begin(const Launch&, std::span<const std::string> notes,
                      std::size_t candidates) override {
        std::vector<std::string> all(notes.begin(), notes.end());
        if (!options_.all_rows && candidates > few_candidates)
            all.push_back(fmt::format(
                "of {} candidates each size has the rows of the fastest and of the fastest "
                "library; --all-rows shows all, --json and --csv keep all",
                candidates));
        return table_header(all, columns_);
    }

    // Kind by kind of buffers.
    std::string rows(std::span<const Point> points) override {
        const auto& kinds = options_.sweep.buffers;
        if (kinds.empty()) return rows_of_kind(options_, columns_, points);
        std::string text;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (kinds.size() > 1) text += fmt::format("# {} buffers\n", name_of(kinds[i]));
            const std::size_t of_kind = points.size() / kinds.size();
            text += rows_of_kind(options_, columns_, points.subspan(i * of_kind, of_kind));
        }
        return text;
    }

    bool shows_limits() const override { return true; }

    std::string end(std::span<const Point> all, std::span<const Launch> launches,
                    std::span<const End> ends) override {
        std::string text =
            fastest_table(all, launches.size() == 1 ? "within this launch" : "between launches");
        if (!text.empty()) text += cautions_below(launches, ends);
        return text + table_footer(all);
    }

private:
    const BenchOptions& options_;
    TableColumns columns_;
};

}  // namespace

std::unique_ptr<BenchOutput> own_output(const BenchOptions& options, TableColumns columns) {
    return std::make_unique<OwnOutput>(options, columns);
}

}  // namespace tutti
