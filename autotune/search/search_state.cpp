// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/search_state.hpp"

#include <algorithm>
#include <cmath>

#include "autotune/choice/scale.hpp"

namespace tutti {

void Prior::learn(const SampleLog& log, std::size_t size) {
    std::vector<double> residuals;
    for (const int arm : log.raced(size)) {
        const std::optional<double> predicted = evaluator_.predicted_ns(arm, sizes_[size]);
        if (predicted && *predicted > 0)
            residuals.push_back(*log.level(size, arm) - std::log(*predicted));
    }
    if (residuals.empty()) return;
    std::vector<double> sorted = residuals;
    std::sort(sorted.begin(), sorted.end());
    const double shift = sorted[sorted.size() / 2];
    shifts_[size] = shift;
    for (const double residual : residuals) errors_.push_back(std::abs(residual - shift));
}

std::optional<double> Prior::level(int arm, std::size_t size) const {
    const std::optional<double> predicted = evaluator_.predicted_ns(arm, sizes_[size]);
    if (!predicted || *predicted <= 0) return std::nullopt;
    if (shifts_.empty()) return std::log(*predicted);
    const auto above = shifts_.lower_bound(size);
    if (above == shifts_.end()) return std::log(*predicted) + std::prev(above)->second;
    if (above == shifts_.begin()) return std::log(*predicted) + above->second;
    const auto below = std::prev(above);
    const double share = octaves(sizes_[below->first], sizes_[size]) /
                         octaves(sizes_[below->first], sizes_[above->first]);
    return std::log(*predicted) + below->second + share * (above->second - below->second);
}

std::optional<double> Prior::error() const {
    if (errors_.size() < 4) return std::nullopt;
    double squares = 0;
    for (const double error : errors_) squares += error * error;
    return std::sqrt(squares / static_cast<double>(errors_.size()));
}

bool Prior::is_between(std::size_t size) const {
    return !shifts_.empty() && shifts_.begin()->first <= size && size <= shifts_.rbegin()->first;
}

namespace {

// A loss within twice its error may be noise.
constexpr double errors_of_doubt = 2;
// The first pass takes about this share of the time, the pass over doubts the rest.
constexpr double first_pass = 0.7;

}  // namespace

SearchState::SearchState(Evaluator& evaluator, std::span<const Bytes> sizes,
                         const SearchOptions& options)
    : evaluator_(evaluator),
      sizes_(sizes),
      options_(options),
      families_(evaluator.arms()),
      log_(sizes.size(), evaluator.arms().size()),
      prior_(evaluator, sizes),
      settled_(sizes.size(), false) {}

void SearchState::race(std::size_t size, std::span<const int> arms, int repetitions) {
    if (arms.empty() || is_over()) return;
    log_.add(size, arms, evaluator_.race(sizes_[size], arms, repetitions));
    if (options_.progress) options_.progress({share(), sizes_[size], log_.leader(size)});
}

double SearchState::share() const {
    const auto settled = std::count(settled_.begin(), settled_.end(), true);
    return first_pass * static_cast<double>(settled) / static_cast<double>(settled_.size()) +
           (1 - first_pass) * refined_;
}

std::vector<int> SearchState::survivors(std::size_t size, const std::vector<int>& arms,
                                        double drop_beyond) const {
    const int leader = log_.leader(size, arms);
    std::vector<int> left;
    for (const int arm : arms) {
        if (log_.count(size, arm) == 0) continue;
        const double slack =
            families_.has_parameters(families_.of(arm)) ? options_.family_slack : 1;
        const double gap = log_.gap(size, arm, leader);
        const bool is_beaten = gap > std::log(drop_beyond * slack) &&
                               gap > errors_of_doubt * log_.gap_error(size, arm, leader);
        if (!is_beaten) left.push_back(arm);
    }
    return left;
}

void SearchState::race_in_rounds(std::size_t size, std::vector<int> arms) {
    for (const HeatRound& round : options_.rounds) {
        if (is_over()) return;
        race(size, arms, round.repetitions);
        arms = survivors(size, arms, round.drop_beyond);
        if (arms.size() < 2) return;
    }
}

int SearchState::best_of(std::size_t family, std::size_t size) const {
    return log_.leader(size, families_.members(family));
}

int SearchState::runners(std::size_t family, std::size_t size) const {
    return static_cast<int>(std::ranges::count_if(families_.members(family), [&](int arm) {
        return evaluator_.takes_part(arm, sizes_[size]);
    }));
}

}  // namespace tutti
