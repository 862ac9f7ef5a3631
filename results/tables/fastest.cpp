// SPDX-License-Identifier: Apache-2.0
#include "results/tables/fastest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace tutti {
namespace {

constexpr std::size_t most_tied = 2;

// Nothing where no launch measured both.
std::string ratio_cell(const std::optional<Ratio>& ratio) {
    constexpr double says_nothing = 1000;  // with two launches, Student's t spans any ratio
    if (!ratio) return "-";
    if (!ratio->is_known() || ratio->high > says_nothing * ratio->value)
        return fmt::format("{:.2f} (too few {}) ~", ratio->value,
                           ratio->launches == 1 ? "calls" : "launches");
    return fmt::format("{:.2f} ({:.2f} .. {:.2f}){}", ratio->value, ratio->low, ratio->high,
                       ratio->is_significant() ? "" : " ~");
}

std::string name_cell(const RankedCell* cell) {
    if (cell == nullptr) return "-";
    const Point& point = *cell->points.front();
    const std::string name = candidate_in_words(point.key);
    return point.choice.empty() ? name : name + ": " + point.choice;
}

std::string us_cell(const RankedCell* cell) {
    return cell == nullptr ? "-" : fmt::format("{:.2f}", cell->p50 / 1000);
}

// Points of one subject are ranked in one table.
auto subject_of(const Key& key) {
    return std::tie(key.coll, key.dtype, key.op, key.root, key.buf, key.input, key.blocks,
                    key.aggressor, key.placement, key.inplace);
}

std::string line_of(std::string_view size, std::string_view best, std::string_view time,
                    std::string_view limit, std::string_view library, std::string_view its_time,
                    std::string_view ratio, std::string_view tied) {
    return fmt::format("# {:>10}  {:<34}  {:>9}  {:>5}  {:<20}  {:>9}  {:<36}  {}\n", size, best,
                       time, limit, library, its_time, ratio, tied);
}

// The fastest of ours, or of the libraries; null if there is none.
const RankedCell* fastest_in(const Ranking& ranking, const RankedSize& size, bool ours) {
    for (const std::size_t place : size.order)
        if (ranking.candidates()[size.cells[place].candidate].is_ours() == ours)
            return &size.cells[place];
    return nullptr;
}

std::string tied_cell(const Ranking& ranking, const RankedSize& size, const RankedCell* best) {
    std::string names;
    std::size_t count = 0;
    for (const std::size_t place : size.order) {
        const RankedCell& cell = size.cells[place];
        if (best == nullptr || &cell == best || !ranking.candidates()[cell.candidate].is_ours() ||
            !is_tied(cell, *best))
            continue;
        if (++count > most_tied) continue;
        names += (count == 1 ? "" : ", ") + candidate_in_words(cell.points.front()->key);
    }
    if (count > most_tied) names += fmt::format(" and {} others", count - most_tied);
    return names.empty() ? "-" : names;
}

std::size_t most_candidates(const std::vector<const Point*>& points) {
    std::map<Bytes, std::set<Configuration>> candidates;
    std::size_t most = 0;
    for (const Point* point : points) {
        auto& of_size = candidates[point->key.bytes];
        of_size.insert(point->key.configuration);
        most = std::max(most, of_size.size());
    }
    return most;
}

std::string table_of(const std::vector<const Point*>& points) {
    const Ranking ranking{points};
    std::string lines;
    std::vector<std::vector<std::pair<int, LogValue>>> ratios;
    int launches = 1;
    for (const RankedSize& size : ranking.sizes()) {
        const RankedCell* best = fastest_in(ranking, size, true);
        const RankedCell* library = fastest_in(ranking, size, false);
        std::optional<Ratio> ratio;
        if (best != nullptr && library != nullptr) {
            ratios.push_back(ratios_by_launch(*library, *best));
            ratio = compared(*library, *best);
            if (ratios.back().empty()) ratios.pop_back();
        }
        for (const RankedCell& cell : size.cells)
            launches = std::max(launches, static_cast<int>(cell.points.size()));
        const auto share = best == nullptr ? std::nullopt : best->percent_of_limit();
        lines += line_of(std::to_string(size.bytes.count), name_cell(best), us_cell(best),
                         share ? fmt::format("{:.0f}", *share) : "-", name_cell(library),
                         us_cell(library), ratio_cell(ratio), tied_cell(ranking, size, best));
    }
    const std::size_t candidates = most_candidates(points);
    if (candidates < 2 || lines.empty()) return "";
    std::string text = fmt::format("# Fastest of {} candidates: {}\n", candidates,
                                   subject_in_words(points.front()->key));
    text += line_of("size", "fastest of tutti", "time", "%lim", "fastest library", "time",
                    "times as fast", "statistically tied");
    text += line_of(
        "(B)", "", "(us)", "", "", "(us)",
        fmt::format("(95 % {}; ~: tied)", launches > 1 ? "between launches" : "within this launch"),
        "");
    text += lines;
    if (ratios.size() > 1)
        if (const auto mean = geometric_mean(ratios))
            text += fmt::format(
                "# Geometric mean of {} sizes: {} times as fast as the fastest library\n",
                ratios.size(), ratio_cell(mean));
    return text;
}

// Groups points by subject, in the order of measuring.
std::vector<std::vector<const Point*>> by_subject(std::span<const Point> points) {
    std::vector<std::vector<const Point*>> subjects;
    for (const Point& point : points) {
        const auto same = std::ranges::find_if(subjects, [&](const auto& subject) {
            return subject_of(subject.front()->key) == subject_of(point.key);
        });
        (same == subjects.end() ? subjects.emplace_back() : *same).push_back(&point);
    }
    return subjects;
}

}  // namespace

std::string subject_in_words(const Key& key) {
    std::string title = fmt::format("{} {}", name_of_collective(key), name_of(key.dtype));
    if (key.op) title += fmt::format(" {}", name_of(*key.op));
    if (key.root) title += fmt::format(", root {}", key.root->index);
    title += fmt::format(", {}, {} memory", key.inplace ? "in place" : "out of place", key.buf);
    for (const std::string& more : {key.input, key.blocks, key.placement})
        if (!more.empty()) title += ", " + more;
    if (!key.aggressor.empty()) title += ", next to " + key.aggressor;
    return title;
}

Fastest fastest_of(std::span<const Point> points) {
    Fastest fastest;
    const auto add = [](std::set<Key>& keys, const RankedCell* cell) {
        if (cell != nullptr) keys.insert(cell->points.front()->key);
    };
    for (const auto& subject : by_subject(points)) {
        const Ranking ranking{subject};
        for (const RankedSize& size : ranking.sizes()) {
            add(fastest.of_all, &size.best());
            add(fastest.of_tutti, fastest_in(ranking, size, true));
            add(fastest.of_libraries, fastest_in(ranking, size, false));
        }
    }
    return fastest;
}

std::string fastest_table(std::span<const Point> points) {
    const bool any_out_of_place =
        std::ranges::any_of(points, [](const Point& point) { return !point.key.inplace; });
    std::string text;
    for (const auto& subject : by_subject(points))
        if (!any_out_of_place || !subject.front()->key.inplace) text += table_of(subject);
    return text;
}

}  // namespace tutti
