// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/search_state.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "autotune/choice/scale.hpp"

namespace tutti {

Families::Families(std::span<const Arm> arms) : arms_(arms.begin(), arms.end()) {
    std::map<int, std::size_t> known;
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
        const auto [place, is_new] = known.try_emplace(arms_[arm].family, members_.size());
        if (is_new) members_.emplace_back();
        family_of_.push_back(place->second);
        members_[place->second].push_back(static_cast<int>(arm));
    }
}

int Families::nearest(std::size_t family, const Level& level) const {
    const auto distance = [&](int arm) {
        double sum = 0;
        for (std::size_t p = 0; p < level.size(); ++p) {
            const double apart = at(arms_, arm).level[p] - level[p];
            sum += apart * apart;
        }
        return sum;
    };
    return *std::min_element(members_[family].begin(), members_[family].end(),
                             [&](int a, int b) { return distance(a) < distance(b); });
}

int Families::middle(std::size_t family) const {
    Level centre{};
    for (std::size_t p = 0; p < centre.size(); ++p) {
        std::vector<int> levels;
        for (const int arm : members_[family]) levels.push_back(at(arms_, arm).level[p]);
        const auto [least, most] = std::minmax_element(levels.begin(), levels.end());
        centre[p] = (*least + *most) / 2.0;
    }
    return nearest(family, centre);
}

int Families::between(int one, int other) const {
    const Arm& a = at(arms_, one);
    const Arm& b = at(arms_, other);
    Level halfway{};
    for (std::size_t p = 0; p < halfway.size(); ++p) halfway[p] = (a.level[p] + b.level[p]) / 2.0;
    return nearest(of(one), halfway);
}

std::vector<int> Families::scale_through(int arm, std::size_t parameter) const {
    Arm wanted = at(arms_, arm);
    std::vector<int> scale;
    for (const int member : members_[of(arm)]) {
        const Arm& candidate = at(arms_, member);
        wanted.level[parameter] = candidate.level[parameter];
        if (candidate == wanted) scale.push_back(member);
    }
    std::sort(scale.begin(), scale.end(), [&](int a, int b) {
        return at(arms_, a).level[parameter] < at(arms_, b).level[parameter];
    });
    return scale;
}

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

// A loss within this many times its error may be noise.
constexpr double errors_of_doubt = 2;
// Share of the time of the first pass; refining takes the rest.
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

std::optional<double> SearchState::trusted_error() const {
    const std::optional<double> error = prior_.error();
    return error && *error <= options_.model_error ? error : std::nullopt;
}

bool SearchState::model_puts_above(int arm, int measured, std::size_t size) const {
    const std::optional<double> error = trusted_error();
    const std::optional<double> level = prior_.level(arm, size);
    const std::optional<double> known = prior_.level(measured, size);
    if (!error || !level || !known) return false;
    return *level - *known > std::max(std::log(options_.model_slack), errors_of_doubt * *error);
}

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

int SearchState::best_of(std::size_t family, std::size_t size) const {
    return log_.leader(size, families_.members(family));
}

int SearchState::runners(std::size_t family, std::size_t size) const {
    return static_cast<int>(std::ranges::count_if(families_.members(family), [&](int arm) {
        return evaluator_.takes_part(arm, sizes_[size]);
    }));
}

}  // namespace tutti
