// SPDX-License-Identifier: Apache-2.0
#include "results/summary/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "results/summary/setups.hpp"

namespace tutti {
namespace {

using ByLaunch = std::vector<std::pair<int, LogValue>>;

constexpr std::string_view preferred_libraries[] = {"nccl", "mpi"};  // NCCL is on devices only

std::optional<Ratio> over_launches(const ByLaunch& launches) {
    std::vector<LogValue> values;
    for (const auto& [launch, value] : launches) values.push_back(value);
    return over_launches(std::span<const LogValue>(values));
}

double median_of(const std::vector<const Point*>& points, auto value) {
    std::vector<double> values;
    for (const Point* point : points) values.push_back(static_cast<double>(value(*point)));
    return median(std::move(values));
}

bool is_default(const Configuration& library) {
    return library.algorithm.empty() || library.algorithm == library.impl;
}

std::size_t preference(const Configuration& library) {
    const auto found = std::ranges::find(preferred_libraries, library.impl);
    return static_cast<std::size_t>(found - std::begin(preferred_libraries));
}

void summarise(RankedCell& cell) {
    const auto& points = cell.points;
    cell.p50 = std::max(median_of(points, [](const Point& one) { return one.time.p50; }), least_ns);
    cell.p05 = median_of(points, [](const Point& one) { return one.time.p05; });
    cell.p95 = median_of(points, [](const Point& one) { return one.time.p95; });
    cell.busbw = median_of(points, [](const Point& one) { return one.bandwidth.busbw; });
    for (const Point* point : points)
        if (const double limit = point->limit_ns.value_or(0); limit > 0)
            cell.limit_ns = cell.limit_ns > 0 ? std::min(cell.limit_ns, limit) : limit;
    cell.time = over_launches(cell.medians);
}

}  // namespace

std::optional<double> RankedCell::percent_of_limit() const {
    if (limit_ns <= 0) return std::nullopt;
    return 100 * limit_ns / p50;
}

bool RankedCell::beats_limit() const {
    return std::ranges::all_of(points, [&](const Point* point) {
        return limit_ns > static_cast<double>(point->time.ci95_hi);
    });
}

double RankedCell::limit_change() const {
    double largest = limit_ns;
    for (const Point* point : points) largest = std::max(largest, point->limit_ns.value_or(0));
    return limit_ns > 0 ? largest / limit_ns : 1;
}

const RankedCell* RankedSize::cell_of(std::size_t candidate) const {
    const auto found = std::ranges::find(cells, candidate, &RankedCell::candidate);
    return found == cells.end() ? nullptr : &*found;
}

std::vector<std::pair<int, LogValue>> ratios_by_launch(const RankedCell& above,
                                                       const RankedCell& below) {
    ByLaunch ratios;
    auto other = below.medians.begin();
    for (const auto& [launch, median] : above.medians) {
        while (other != below.medians.end() && other->first < launch) ++other;
        if (other != below.medians.end() && other->first == launch)
            ratios.emplace_back(launch, log_ratio(median, other->second));
    }
    return ratios;
}

std::optional<Ratio> compared(const RankedCell& above, const RankedCell& below) {
    return over_launches(ratios_by_launch(above, below));
}

bool is_tied(const RankedCell& cell, const RankedCell& best) {
    const auto ratio = compared(cell, best);
    if (ratio && ratio->is_known()) return ratio->low <= 1;
    return is_near(*cell.time, *best.time);
}

std::optional<Ratio> geometric_mean(std::span<const ByLaunch> ratios_of_sizes) {
    std::map<int, std::vector<LogValue>> by_launch;
    for (const ByLaunch& of_size : ratios_of_sizes)
        for (const auto& [launch, ratio] : of_size) by_launch[launch].push_back(ratio);
    std::vector<LogValue> means;
    for (const auto& [launch, ratios] : by_launch)
        if (ratios.size() == ratios_of_sizes.size()) means.push_back(mean_of(ratios));
    return over_launches(std::span<const LogValue>(means));
}

Ranking::Ranking(std::span<const Point* const> points) {
    std::map<std::pair<std::string, Bytes>, std::set<Bytes>> segments;
    for (const Point* point : points) {
        const Configuration& configuration = point->key.configuration;
        segments[{configuration.algorithm, point->key.bytes}].insert(configuration.segment);
    }
    for (const auto& [of, found] : segments)
        if (found.size() > 1) with_segments_.insert(of.first);
    add_cells(points);
    choose_libraries();
    for (RankedSize& size : sizes_) rank(size);
    order_candidates();
}

// The only segment of an algorithm at each size, such as the default, is no part of a name.
Configuration Ranking::candidate_of(const Key& key) const {
    Configuration candidate = key.configuration;
    if (!with_segments_.contains(candidate.algorithm)) candidate.segment = {};
    return candidate;
}

void Ranking::add_cells(std::span<const Point* const> points) {
    std::map<std::pair<std::string, int>, int> launches;
    std::map<std::pair<Bytes, Configuration>, std::map<int, const Point*>> measured;
    std::map<std::pair<Bytes, Configuration>, std::int64_t> wrong;
    for (const Point* point : points) {
        if (point->skipped) continue;
        const int next = static_cast<int>(launches.size());
        const int launch =
            launches.try_emplace({point->session, point->launch}, next).first->second;
        const std::pair place{point->key.bytes, candidate_of(point->key)};
        if (is_wrong(*point))
            wrong[place] += point->measured.check.n_wrong;
        else
            measured[place][launch] = point;
    }
    for (const auto& [place, elements] : wrong) {
        measured.erase(place);
        wrong_.push_back({place.second, place.first, elements});
    }
    std::set<Configuration> all;
    for (const auto& [place, by_launch] : measured) all.insert(place.second);
    candidates_.assign(all.begin(), all.end());
    for (const auto& [place, by_launch] : measured) {
        if (sizes_.empty() || sizes_.back().bytes != place.first) sizes_.push_back({place.first});
        RankedCell& cell = sizes_.back().cells.emplace_back();
        cell.candidate = static_cast<std::size_t>(
            std::ranges::lower_bound(candidates_, place.second) - candidates_.begin());
        for (const auto& [launch, point] : by_launch) {
            cell.points.push_back(point);
            cell.medians.emplace_back(launch, log_of_median(point->time));
        }
        summarise(cell);
    }
}

// Variants of a library are ordered by their times: the ratios need a library first.
void Ranking::choose_libraries() {
    std::vector<double> total(candidates_.size());
    for (const RankedSize& size : sizes_)
        for (const RankedCell& cell : size.cells) total[cell.candidate] += std::log(cell.p50);
    std::map<std::string, std::size_t> best;
    const auto rank_of = [&](std::size_t i) {
        return std::tuple(!is_default(candidates_[i]), total[i]);
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (candidates_[i].is_ours()) continue;
        const auto [known, is_new] = best.try_emplace(candidates_[i].impl, i);
        if (rank_of(i) < rank_of(known->second)) known->second = i;
    }
    for (const auto& [impl, candidate] : best) libraries_.push_back(candidate);
    std::ranges::stable_sort(libraries_, {},
                             [&](std::size_t i) { return preference(candidates_[i]); });
}

std::optional<std::size_t> Ranking::library() const {
    if (libraries_.empty()) return std::nullopt;
    return libraries_.front();
}

// By the ratio to the library, which each launch has for itself; by the median where there is no
// library, or one that shares no launch with some candidate.
void Ranking::rank(RankedSize& size) const {
    const RankedCell* reference = libraries_.empty() ? nullptr : size.cell_of(libraries_.front());
    bool have_all = reference != nullptr;
    for (RankedCell& cell : size.cells) {
        if (reference != nullptr) cell.over_library = compared(*reference, cell);
        have_all = have_all && cell.over_library;
    }
    const auto slowness = [&](const RankedCell& cell) {
        return have_all ? 1 / cell.over_library->value : cell.p50;
    };
    size.order.resize(size.cells.size());
    for (std::size_t i = 0; i < size.order.size(); ++i) size.order[i] = i;
    std::ranges::sort(size.order, {}, [&](std::size_t i) {
        const RankedCell& cell = size.cells[i];
        return std::tuple(slowness(cell), cell.p50, cell.candidate);
    });
    const RankedCell& best = size.best();
    for (RankedCell& cell : size.cells) {
        const bool is_best = &cell == &best;
        cell.over_best = compared(cell, best);
        const bool is_known = cell.over_best && cell.over_best->is_known();
        cell.is_tied = is_best || tutti::is_tied(cell, best);
        cell.is_unknown = !is_best && !is_known;
        if (!cell.over_best) continue;
        // Follow the ratios to the library, so that all figures agree.
        cell.over_best->value = slowness(cell) / slowness(best);
        if (!is_known) continue;
        cell.over_best->low = std::min(cell.over_best->low, cell.over_best->value);
        cell.over_best->high = std::max(cell.over_best->high, cell.over_best->value);
    }
}

void Ranking::order_candidates() {
    struct Place {
        bool misses_most = false;
        double distance = 0;
        std::size_t candidate = 0;
        auto operator<=>(const Place&) const = default;
    };
    std::vector<Place> places(candidates_.size());
    std::vector<int> known(candidates_.size());
    for (const RankedSize& size : sizes_)
        for (const RankedCell& cell : size.cells) {
            const auto ratio = compared(cell, size.best());
            if (!ratio) continue;
            ++known[cell.candidate];
            places[cell.candidate].distance += std::log(ratio->value);
        }
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = {2 * known[i] < static_cast<int>(sizes_.size()),
                     places[i].distance / std::max(known[i], 1), i};
    std::ranges::sort(places, [](const Place& one, const Place& other) {
        return std::tuple(one.misses_most, one.distance, one.candidate) <
               std::tuple(other.misses_most, other.distance, other.candidate);
    });
    std::vector<std::size_t> place_of(places.size());
    std::vector<Configuration> ordered;
    for (const Place& place : places) {
        place_of[place.candidate] = ordered.size();
        ordered.push_back(candidates_[place.candidate]);
    }
    candidates_ = std::move(ordered);
    for (std::size_t& library : libraries_) library = place_of[library];
    for (RankedSize& size : sizes_) {
        for (RankedCell& cell : size.cells) cell.candidate = place_of[cell.candidate];
        for (std::size_t& place : size.order) place = size.cells[place].candidate;
        std::ranges::sort(size.cells, {}, &RankedCell::candidate);
        for (std::size_t& place : size.order)
            place = static_cast<std::size_t>(size.cell_of(place) - size.cells.data());
    }
}

std::pair<std::optional<Ratio>, std::size_t> Ranking::mean_compared(std::size_t above,
                                                                    std::size_t below) const {
    std::vector<ByLaunch> ratios;
    for (const RankedSize& size : sizes_) {
        const RankedCell *one = size.cell_of(above), *other = size.cell_of(below);
        if (one == nullptr || other == nullptr) continue;
        if (ByLaunch of_size = ratios_by_launch(*one, *other); !of_size.empty())
            ratios.push_back(std::move(of_size));
    }
    return {geometric_mean(ratios), ratios.size()};
}

namespace {

double median_of_steps(const RankedMethod& method, Summary TrainingStep::*part) {
    std::vector<double> values;
    for (const TrainingStep* step : method.steps)
        values.push_back(static_cast<double>((step->*part).p50));
    return median(std::move(values));
}

std::optional<Ratio> compared_steps(const RankedMethod& above, const RankedMethod& below) {
    std::vector<LogValue> ratios;
    for (const TrainingStep* one : above.steps)
        for (const TrainingStep* other : below.steps)
            if (launch_of(*one) == launch_of(*other))
                ratios.push_back(log_ratio(log_of_median(one->step), log_of_median(other->step)));
    return over_launches(ratios);
}

}  // namespace

std::vector<RankedMethod> ranked_methods(std::span<const TrainingStep* const> steps) {
    std::map<std::string, std::map<LaunchId, const TrainingStep*>> measured;
    for (const TrainingStep* step : steps)
        if (!step->skipped && step->check.state != CheckState::fail)
            measured[step->key.method][launch_of(*step)] = step;
    std::vector<RankedMethod> methods;
    for (const auto& [name, by_launch] : measured) {
        RankedMethod& method = methods.emplace_back();
        method.name = name;
        std::vector<LogValue> times;
        for (const auto& [launch, step] : by_launch) {
            method.steps.push_back(step);
            times.push_back(log_of_median(step->step));
        }
        method.time = *over_launches(times);
        method.step_ns = median_of_steps(method, &TrainingStep::step);
        method.compute_ns = median_of_steps(method, &TrainingStep::compute);
        method.communication_ns = median_of_steps(method, &TrainingStep::communication);
        method.exposed_ns = median_of_steps(method, &TrainingStep::exposed);
    }
    std::ranges::stable_sort(methods, {}, &RankedMethod::step_ns);
    for (RankedMethod& method : methods) {
        const RankedMethod& best = methods.front();
        const bool is_best = &method == &best;
        method.over_best = compared_steps(method, best);
        const bool is_known = method.over_best && method.over_best->is_known();
        method.is_unknown = !is_best && !is_known;
        method.is_tied = is_best || (is_known ? !method.over_best->is_significant()
                                              : is_near(method.time, best.time));
    }
    return methods;
}

}  // namespace tutti
