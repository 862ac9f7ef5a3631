// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/stopping_rule.hpp"

#include <algorithm>

#include "results/statistics/statistics.hpp"

namespace tutti {

void StoppingRule::add(std::span<const std::int64_t> samples, std::int64_t invalid,
                       double seconds) {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    invalid_ += invalid;
    seconds_ += seconds;
    if (!finished()) reason_ = reason_now();
}

std::int64_t StoppingRule::goal() const {
    return settings_.fixed_samples > 0 ? settings_.fixed_samples : settings_.max_samples;
}

std::int64_t StoppingRule::wanted() const {
    const std::int64_t held_back = finished() ? 0 : settings_.reserved;
    return std::max<std::int64_t>(goal() - taken() - held_back, 1);
}

bool StoppingRule::is_complete() const {
    return taken() >= settings_.fixed_samples || has_too_many_invalid();
}

// Invalid calls are repeated, up to a limit.
bool StoppingRule::has_too_many_invalid() const {
    const std::int64_t expected = settings_.fixed_samples > 0
                                      ? settings_.fixed_samples
                                      : std::max(taken(), settings_.min_samples);
    return attempts() > 4 * expected + 100;
}

std::string_view StoppingRule::reason_now() {
    const bool is_full = taken() + settings_.reserved >= goal();
    if (settings_.fixed_samples > 0) return is_full || has_too_many_invalid() ? "fixed_n" : "";
    // Sorting all samples after each one would cost more than taking them.
    if (taken() >= settings_.min_samples && taken() >= next_interval_at_) {
        next_interval_at_ = taken() + taken() / 4;
        if (half_width(summarise(samples_)) <= settings_.target_ci) return "target_ci";
    }
    if (is_full) return "max_n";
    return seconds_ > settings_.max_seconds || has_too_many_invalid() ? "max_time" : "";
}

}  // namespace tutti
