// SPDX-License-Identifier: Apache-2.0
#include "cli/point_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/csv.hpp"
#include "results/fastest.hpp"

namespace tutti {
namespace {

constexpr std::size_t few_candidates = 4;  // whose rows are read at a glance

bool is_skipped(const Point& point) { return point.skipped.has_value(); }

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

}  // namespace

std::string rows_of_size(const BenchOptions& options, TableColumns columns,
                         std::span<const Point> points) {
    const auto& kinds = options.sweep.buffers;
    if (kinds.empty()) return rows_of_kind(options, columns, points);
    std::string text;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (kinds.size() > 1) text += fmt::format("# {} buffers\n", name_of(kinds[i]));
        const std::size_t of_kind = points.size() / kinds.size();
        text += rows_of_kind(options, columns, points.subspan(i * of_kind, of_kind));
    }
    return text;
}

std::vector<std::string> notes_on_rows(const BenchOptions& options, std::size_t candidates) {
    if (options.all_rows || candidates <= few_candidates) return {};
    return {
        fmt::format("of {} candidates each size has the rows of the fastest and of the fastest "
                    "library; --all-rows shows all, --json and --csv keep all",
                    candidates)};
}

std::string end_of_table(std::span<const Point> points, std::span<const Launch> launches) {
    std::string text =
        fastest_table(points, launches.size() == 1 ? "within this launch" : "between launches");
    if (!text.empty())
        for (const std::string& caution : cautions(launches)) text += "# but: " + caution + '\n';
    return text + table_footer(points);
}

void PointReport::add(std::vector<Point> points) {
    for (Point& point : points) {
        if (!options_.keep_samples) point.measured.samples.clear();
        reporter_.keep(point);
        point.measured.samples.clear();  // the table needs them no more
    }
    show(points);
}

void PointReport::show(const std::vector<Point>& points) {
    if (!points.empty()) reporter_.print(rows_of_size(options_, columns_, points));
    reporter_.step();
    all_.insert(all_.end(), points.begin(), points.end());
}

Exit PointReport::end(std::ofstream csv) {
    using Outcome = Reporter::Outcome;
    reporter_.print(end_of_table(all_, std::span(&launch_, 1)));
    const Exit code = reporter_.end(std::ranges::any_of(all_, is_wrong) ? Outcome::wrong_result
                                    : reporter_.is_active() && std::ranges::all_of(all_, is_skipped)
                                        ? Outcome::nothing_measured
                                        : Outcome::measured,
                                    complaint());
    if (!csv.is_open()) return code;
    write_csv(csv, all_);
    csv.close();
    if (!csv)
        throw Error("'" + options_.csv_file +
                    "' could not be written to its end: is the disk full?");
    return code;
}

// Of what was named and never measured.
std::optional<std::string> PointReport::complaint() const {
    NamedWords named = options_.named;
    for (const Point& point : all_) {
        const Key& key = point.key;
        if (!point.skipped)
            named.measured(key.configuration);
        else
            named.skipped(key.configuration, fmt::format("{} at {}: {}", candidate_in_words(key),
                                                         to_string(key.bytes), *point.skipped));
    }
    return named.complaint();
}

}  // namespace tutti
