// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/sample_log.hpp"

#include <algorithm>
#include <cmath>

#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// If two samples differ by more than this, the larger one was disturbed, and so would be their
// mean.
constexpr double disturbed = 0.4;

double typical_of(const std::vector<double>& logs) {
    if (logs.size() == 2 && std::abs(logs[0] - logs[1]) > disturbed)
        return std::min(logs[0], logs[1]);
    return median(logs);
}

// For a normal distribution the median of |x - y| is 0.954 times the standard deviation.
constexpr double deviation_per_difference = 1 / 0.954;
constexpr double least_noise = 0.005;   // better than any clock
constexpr double noise_unseen = 0.15;   // on a shared machine, before anything repeated
constexpr double default_noise = 0.06;  // between races of one launch
constexpr std::size_t enough_of_one_size = 12;

}  // namespace

SampleLog::SampleLog(std::size_t sizes, std::size_t arms)
    : arms_(arms), entries_(sizes * arms), leaders_(sizes, -1), differences_(sizes) {}

double SampleLog::shift_of_race(std::size_t size, std::span<const int> arms,
                                const std::vector<std::vector<double>>& samples_ns) const {
    std::vector<double> shifts;
    for (std::size_t i = 0; i < arms.size(); ++i) {
        const std::optional<double> before = level(size, arms[i]);
        if (!before || samples_ns[i].empty()) continue;
        std::vector<double> logs;
        for (const double ns : samples_ns[i]) logs.push_back(std::log(std::max(ns, 1.0)));
        shifts.push_back(*before - typical_of(logs));
    }
    if (shifts.empty()) return 0;
    // With few arms an apparent slow period may be chance: a leader with lucky first samples would
    // shift all later races by its luck. So the estimate shrinks towards zero as its error grows
    // beyond the default noise.
    const double error = noise(size) / std::sqrt(static_cast<double>(shifts.size()));
    const double belief =
        default_noise * default_noise / (default_noise * default_noise + error * error);
    return belief * median(std::move(shifts));
}

void SampleLog::add(std::size_t size, std::span<const int> arms,
                    const std::vector<std::vector<double>>& samples_ns) {
    const double shift = shift_of_race(size, arms, samples_ns);
    for (std::size_t i = 0; i < arms.size() && i < samples_ns.size(); ++i) {
        Entry& entry = entries_[size * arms_ + static_cast<std::size_t>(arms[i])];
        for (std::size_t k = 0; k < samples_ns[i].size(); ++k) {
            const double ns = std::max(1.0, samples_ns[i][k]);
            if (k > 0) {
                const double difference = std::abs(std::log(ns) + shift - entry.logs.back());
                differences_[size].push_back(difference);
                all_differences_.push_back(difference);
            }
            entry.raw_ns.push_back(ns);
            entry.logs.push_back(std::log(ns) + shift);
            ++total_;
            total_ns_ += ns;
        }
        if (!entry.logs.empty()) entry.level = typical_of(entry.logs);
    }
    leaders_[size] = leader(size, raced(size));
}

std::vector<int> SampleLog::raced(std::size_t size) const {
    std::vector<int> arms;
    for (int arm = 0; arm < static_cast<int>(arms_); ++arm)
        if (count(size, arm) > 0) arms.push_back(arm);
    return arms;
}

std::optional<double> SampleLog::level(std::size_t size, int arm) const {
    const Entry& entry = of(size, arm);
    if (entry.logs.empty()) return std::nullopt;
    return entry.level;
}

double SampleLog::gap(std::size_t size, int slower, int faster) const {
    const std::vector<double>& a = of(size, slower).logs;
    const std::vector<double>& b = of(size, faster).logs;
    if (a.size() < 3 || b.size() < 3) return of(size, slower).level - of(size, faster).level;
    std::vector<double> pairs;
    pairs.reserve(a.size() * b.size());
    for (const double x : a)
        for (const double y : b) pairs.push_back(x - y);
    return median(std::move(pairs));
}

double SampleLog::noise(std::size_t size) const {
    const std::vector<double>& here = differences_[size];
    const std::vector<double>& used = here.size() >= enough_of_one_size ? here : all_differences_;
    if (used.empty()) return noise_unseen;
    return std::max(least_noise, deviation_per_difference * median(used));
}

/// Returns the distance from the median to the next smaller sample. It is small unless an arm has
/// as many disturbed samples as good ones, which cannot be told apart.
double SampleLog::step_below_median(std::size_t size, int arm) const {
    std::vector<double> logs = of(size, arm).logs;
    if (logs.size() < 3) return 0;
    std::sort(logs.begin(), logs.end());
    return logs[logs.size() / 2] - logs[logs.size() / 2 - 1];
}

double SampleLog::gap_error(std::size_t size, int slower, int faster) const {
    // pi/3: the loss of Hodges and Lehmann's estimate against the mean of normal samples.
    constexpr double loss = 1.047;
    const double one_sample = loss * noise(size) * noise(size);
    double variance = 0;
    for (const int arm : {slower, faster}) {
        const double step = step_below_median(size, arm);
        variance += std::max(one_sample / static_cast<double>(count(size, arm)), step * step);
    }
    return std::sqrt(variance);
}

int SampleLog::leader(std::size_t size, std::span<const int> among) const {
    int best = -1;
    for (const int arm : among) {
        if (count(size, arm) == 0) continue;
        if (best < 0 || gap(size, arm, best) < 0) best = arm;
    }
    return best;
}

}  // namespace tutti
