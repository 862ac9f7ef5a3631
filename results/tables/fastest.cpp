// SPDX-License-Identifier: Apache-2.0
#include "results/tables/fastest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/stretches.hpp"
#include "results/statistics/launch_ratios.hpp"
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
    constexpr double says_nothing = 1000;  // of two launches Student's t spans any ratio
    if (!ratio.is_known() || ratio.high > says_nothing * ratio.ratio)
        return fmt::format("{:.2f} (too few {}) ~", ratio.ratio,
                           ratio.by_launch.empty() ? "calls" : "launches");
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

std::string line_of(const Fastest& size, const std::optional<TimesAsFast>& over_library) {
    const Point* known = size.best != nullptr ? size.best : size.library;
    const bool has_share = size.best != nullptr && size.best->pct_of_limit.has_value();
    const std::string share = has_share ? fmt::format("{:.0f}", *size.best->pct_of_limit) : "-";
    return line_of(std::to_string(known->key.bytes.count), name_of_candidate(size.best),
                   us_of(size.best), share, name_of_candidate(size.library), us_of(size.library),
                   over_library ? in_words(*over_library) : "-", names_of(size.as_good));
}

// How far the interval of a median reaches to both sides, in logarithms. Times are whole
// nanoseconds, so none is known better than to half of one.
struct Reach {
    double below, above;
};

// Nothing of too few samples.
std::optional<Reach> log_of_median(const Summary& time) {
    if (!std::isfinite(half_width(time))) return std::nullopt;
    constexpr double least_ns = 0.5;
    const auto median = std::max(static_cast<double>(time.p50), least_ns);
    const double low = std::min(static_cast<double>(time.ci95_lo), median - 0.5),
                 high = std::max(static_cast<double>(time.ci95_hi), median + 0.5);
    return Reach{std::log(median / std::max(low, least_ns)), std::log(high / median)};
}

TimesAsFast of_launches(std::vector<double> logs) {
    const LogInterval all = over_launches(logs);
    return {std::exp(all.middle), std::exp(all.low), std::exp(all.high), std::move(logs)};
}

// Of what is hardly known, as it has too few samples, only what takes hardly longer.
bool is_as_good(const Point& point, const Point& best, SamplesOf samples) {
    const TimesAsFast ratio = times_as_fast(best, point, samples);
    return ratio.is_known() ? !ratio.is_apart() : ratio.ratio <= 1.1;
}

TimesAsFast mean_of_independent(const std::vector<TimesAsFast>& sizes) {
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
    return mean;
}

// Of launches that have all sizes the mean of each counts: what disturbs one meets many sizes.
TimesAsFast geometric_mean(const std::vector<TimesAsFast>& sizes) {
    std::vector<double> means(sizes.front().by_launch.size());
    for (const TimesAsFast& size : sizes) {
        if (means.empty() || size.by_launch.size() != means.size())
            return mean_of_independent(sizes);
        for (std::size_t i = 0; i < means.size(); ++i)
            means[i] += size.by_launch[i] / static_cast<double>(sizes.size());
    }
    return of_launches(std::move(means));
}

std::string mean_line(const std::vector<TimesAsFast>& sizes) {
    if (sizes.size() < 2) return "";
    return fmt::format("# Geometric mean of {} sizes: {} times as fast as the fastest library\n",
                       sizes.size(), in_words(geometric_mean(sizes)));
}

// Of one subject: its points come size by size.
std::string table_of(const std::vector<const Point*>& points, SamplesOf samples) {
    std::string lines;
    std::vector<TimesAsFast> ratios;
    std::size_t candidates = 0;
    const auto of_one_size = [](const Point* one, const Point* other) {
        return one->key.bytes == other->key.bytes;
    };
    for (const auto of_size : stretches(std::span(points), of_one_size)) {
        const Fastest size = fastest_of(of_size, samples);
        candidates = std::max(candidates, of_size.size());
        if (size.best == nullptr && size.library == nullptr) continue;
        std::optional<TimesAsFast> over_library;
        if (size.best != nullptr && size.library != nullptr)
            over_library = times_as_fast(*size.best, *size.library, samples);
        lines += line_of(size, over_library);
        if (over_library) ratios.push_back(*over_library);
    }
    if (candidates < 2 || lines.empty()) return "";
    return title_of(points.front()->key, candidates) +
           line_of("size", "fastest of tutti", "time", "%lim", "fastest library", "time",
                   "times as fast", "as good (cannot be told apart)") +
           line_of(
               "(B)", "", "(us)", "", "", "(us)",
               fmt::format("(95 % {}; ~: not sure)",
                           samples == SamplesOf::calls ? "within this launch" : "between launches"),
               "") +
           lines + mean_line(ratios);
}

}  // namespace

TimesAsFast times_as_fast(const Point& one, const Point& other, SamplesOf samples) {
    const auto& of_one = one.measured.samples;
    const auto& of_other = other.measured.samples;
    if (samples == SamplesOf::launches && of_one.size() > 1 && of_one.size() == of_other.size()) {
        std::vector<double> logs;
        const auto log_of = [](std::int64_t ns) {
            return std::log(static_cast<double>(std::max<std::int64_t>(ns, 1)));
        };
        for (std::size_t i = 0; i < of_one.size(); ++i)
            logs.push_back(log_of(of_other[i]) - log_of(of_one[i]));
        return of_launches(std::move(logs));
    }
    TimesAsFast result{.ratio =
                           static_cast<double>(other.time.p50) / static_cast<double>(one.time.p50)};
    const auto of_one_log = log_of_median(one.time), of_other_log = log_of_median(other.time);
    if (!of_one_log || !of_other_log) return result;
    result.low = result.ratio * std::exp(-std::hypot(of_other_log->below, of_one_log->above));
    result.high = result.ratio * std::exp(std::hypot(of_other_log->above, of_one_log->below));
    return result;
}

Fastest fastest_of(std::span<const Point* const> points, SamplesOf samples) {
    Fastest size;
    for (const Point* point : points)
        if (counts(*point)) {
            const Point*& best = point->key.configuration.is_ours() ? size.best : size.library;
            best = faster_of(best, point);
        }
    if (size.best == nullptr) return size;
    // Of launches, in which candidates had the same luck, by their ratios.
    if (samples == SamplesOf::launches && size.library != nullptr)
        size.best = *std::ranges::max_element(points, {}, [&](const Point* point) {
            const bool takes_part = counts(*point) && point->key.configuration.is_ours();
            return takes_part ? times_as_fast(*point, *size.library, samples).ratio : 0;
        });
    for (const Point* point : points)
        if (point != size.best && counts(*point) && point->key.configuration.is_ours() &&
            is_as_good(*point, *size.best, samples))
            size.as_good.push_back(point);
    std::ranges::stable_sort(size.as_good, {}, [](const Point* point) { return point->time.p50; });
    return size;
}

std::string fastest_table(std::span<const Point> points, SamplesOf samples) {
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
    for (const auto& subject : subjects) text += table_of(subject, samples);
    return text;
}

}  // namespace tutti
