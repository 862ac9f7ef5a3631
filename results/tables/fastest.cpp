// SPDX-License-Identifier: Apache-2.0
#include "results/tables/fastest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/stretches.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_as_good = 2;

bool counts(const Point& point) {
    return !point.skipped && point.time.p50 > 0 && point.measured.check.state != CheckState::fail;
}

const Point* faster_of(const Point* best, const Point* point) {
    return best == nullptr || point->time.p50 < best->time.p50 ? point : best;
}

std::string in_words(const TimesAsFast& ratio) {
    if (!ratio.is_known()) return fmt::format("{:.2f} (? .. ?)", ratio.ratio);
    return fmt::format("{:.2f} ({:.2f} .. {:.2f}){}", ratio.ratio, ratio.low, ratio.high,
                       ratio.is_apart() ? "" : " ~");
}

std::string us_of(const Point* point) {
    if (point == nullptr) return "-";
    return fmt::format("{:.2f}", static_cast<double>(point->time.p50) / 1000);
}

std::string name_of_candidate(const Point* point) {
    if (point == nullptr) return "-";
    const std::string name = candidate_in_words(point->key);
    return point->choice.empty() ? name : name + ": " + point->choice;
}

std::string names_of(const std::vector<const Point*>& points) {
    std::string names;
    for (std::size_t i = 0; i < std::min(points.size(), most_as_good); ++i)
        names += (i == 0 ? "" : ", ") + candidate_in_words(points[i]->key);
    if (points.size() > most_as_good)
        names += fmt::format(" and {} more", points.size() - most_as_good);
    return names.empty() ? "-" : names;
}

// What a table is about.
auto subject_of(const Key& key) {
    return std::tie(key.coll, key.dtype, key.op, key.root, key.buf, key.input, key.placement,
                    key.inplace);
}

std::string title_of(const Key& key, std::size_t candidates) {
    std::string title = fmt::format("{} {}", name_of(key.coll), name_of(key.dtype));
    if (key.op) title += fmt::format(" {}", name_of(*key.op));
    if (key.root) title += fmt::format(", root {}", key.root->index);
    title += fmt::format(", {}, {} memory", key.inplace ? "in place" : "out of place", key.buf);
    for (const std::string& more : {key.input, key.placement})
        if (!more.empty()) title += ", " + more;
    return fmt::format("# Fastest of {} candidates: {}\n", candidates, title);
}

std::string line_of(std::string_view size, std::string_view best, std::string_view time,
                    std::string_view limit, std::string_view library, std::string_view its_time,
                    std::string_view ratio, std::string_view as_good) {
    return fmt::format("# {:>10}  {:<34}  {:>9}  {:>5}  {:<20}  {:>9}  {:<36}  {}\n", size, best,
                       time, limit, library, its_time, ratio, as_good);
}

// The points of one size.
std::string line_of(const Fastest& size) {
    const Point* known = size.best != nullptr ? size.best : size.library;
    const bool both = size.best != nullptr && size.library != nullptr;
    const bool has_share = size.best != nullptr && size.best->pct_of_limit.has_value();
    const std::string share = has_share ? fmt::format("{:.0f}", *size.best->pct_of_limit) : "-";
    return line_of(std::to_string(known->key.bytes.count), name_of_candidate(size.best),
                   us_of(size.best), share, name_of_candidate(size.library), us_of(size.library),
                   both ? in_words(size.over_library()) : "-", names_of(size.as_good));
}

std::string mean_line(const std::vector<TimesAsFast>& sizes) {
    if (sizes.size() < 2) return "";
    double sum = 0, squares = 0;
    bool are_known = true;
    for (const TimesAsFast& size : sizes) {
        sum += std::log(size.ratio);
        are_known = are_known && size.is_known();
        if (size.is_known()) squares += std::pow(std::log(size.high / size.ratio), 2);
    }
    const auto n = static_cast<double>(sizes.size());
    TimesAsFast mean{.ratio = std::exp(sum / n)};
    if (are_known) {
        mean.low = std::exp((sum - std::sqrt(squares)) / n);
        mean.high = std::exp((sum + std::sqrt(squares)) / n);
    }
    return fmt::format("# Geometric mean of {} sizes: {} times as fast as the fastest library\n",
                       sizes.size(), in_words(mean));
}

// Of one subject: its points come size by size.
std::string table_of(const std::vector<const Point*>& points, std::string_view interval) {
    std::string lines;
    std::vector<TimesAsFast> ratios;
    std::size_t candidates = 0;
    const auto of_one_size = [](const Point* one, const Point* other) {
        return one->key.bytes == other->key.bytes;
    };
    for (const auto of_size : stretches(std::span(points), of_one_size)) {
        const Fastest size = fastest_of(of_size);
        candidates = std::max(candidates, of_size.size());
        if (size.best != nullptr || size.library != nullptr) lines += line_of(size);
        if (size.best != nullptr && size.library != nullptr) ratios.push_back(size.over_library());
    }
    if (candidates < 2 || lines.empty()) return "";
    return title_of(points.front()->key, candidates) +
           line_of("size", "fastest of tutti", "time", "%lim", "fastest library", "time",
                   "times as fast", "as good (cannot be told apart)") +
           line_of("(B)", "", "(us)", "", "", "(us)",
                   fmt::format("(95 % {}; ~: not sure)", interval), "") +
           lines + mean_line(ratios);
}

}  // namespace

TimesAsFast times_as_fast(const Summary& one, const Summary& other) {
    TimesAsFast result{.ratio = static_cast<double>(other.p50) / static_cast<double>(one.p50)};
    const double width = std::hypot(half_width(one), half_width(other));
    if (!std::isfinite(width)) return result;
    result.low = result.ratio * std::exp(-width);
    result.high = result.ratio * std::exp(width);
    return result;
}

Fastest fastest_of(std::span<const Point* const> points) {
    Fastest size;
    for (const Point* point : points)
        if (counts(*point)) {
            const Point*& best = point->key.configuration.is_ours() ? size.best : size.library;
            best = faster_of(best, point);
        }
    if (size.best == nullptr) return size;
    for (const Point* point : points)
        if (point != size.best && counts(*point) && point->key.configuration.is_ours() &&
            !times_as_fast(size.best->time, point->time).is_apart())
            size.as_good.push_back(point);
    std::ranges::stable_sort(size.as_good, {}, [](const Point* point) { return point->time.p50; });
    return size;
}

std::string fastest_table(std::span<const Point> points, std::string_view interval) {
    const bool any_out_of_place =
        std::ranges::any_of(points, [](const Point& point) { return !point.key.inplace; });
    std::vector<std::vector<const Point*>> subjects;  // in the order of measuring
    for (const Point& point : points) {
        if (any_out_of_place && point.key.inplace) continue;
        const auto same = std::ranges::find_if(subjects, [&](const auto& subject) {
            return subject_of(subject.front()->key) == subject_of(point.key);
        });
        (same == subjects.end() ? subjects.emplace_back() : *same).push_back(&point);
    }
    std::string text;
    for (const auto& subject : subjects) text += table_of(subject, interval);
    return text;
}

}  // namespace tutti
