// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/clock_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_estimates = 8;
constexpr std::size_t estimates_for_drift = 3;
constexpr double most_drift = 5e-4;  // the largest slew rate of NTP
constexpr std::int64_t least_trust_ns = 100'000'000, most_trust_ns = 1'000'000'000;

}  // namespace

ClockOffset estimate_offset(std::span<const Ping> pings) {
    // Both contain the offset: there = time + offset, back = time - offset.
    const auto time_there = [](const Ping& ping) { return ping.there - ping.sent; };
    const auto time_back = [](const Ping& ping) { return ping.back - ping.there; };
    const auto middle = [](std::int64_t a, std::int64_t b) { return a + (b - a) / 2; };
    const Ping& out = *std::ranges::min_element(pings, {}, time_there);
    const Ping& in = *std::ranges::min_element(pings, {}, time_back);
    const std::int64_t there = time_there(out), back = time_back(in);
    return {middle(middle(out.sent, out.back), middle(in.sent, in.back)), (there - back) / 2,
            (there + back + 1) / 2};
}

void ClockModel::learn(const ClockOffset& estimate) {
    if (!latest_.empty()) {
        std::int64_t allowed = estimate.bound_ns;
        if (latest_.size() < estimates_for_drift)  // drift is not known yet
            allowed += std::llround(
                most_drift * static_cast<double>(std::abs(estimate.at_ns - latest_.back().at_ns)));
        if (std::abs(estimate.offset_ns - offset(estimate.at_ns)) > allowed) latest_.clear();
    }
    latest_.push_back(estimate);
    if (latest_.size() > most_estimates) latest_.pop_front();
    std::int64_t least_bound = INT64_MAX;
    for (const ClockOffset& each : latest_) least_bound = std::min(least_bound, each.bound_ns);
    // Relative to the latest, as a double has no room for days in nanoseconds.
    const ClockOffset& now = latest_.back();
    std::vector<double> times, offsets;
    for (const ClockOffset& each : latest_) {
        if (each.bound_ns > 2 * least_bound) continue;  // a disturbed one
        times.push_back(static_cast<double>(each.at_ns - now.at_ns));
        offsets.push_back(static_cast<double>(each.offset_ns - now.offset_ns));
    }
    const double drift = theil_sen_slope(times, offsets);
    for (std::size_t i = 0; i < times.size(); ++i) offsets[i] -= drift * times[i];
    line_ = {now.at_ns, now.offset_ns + std::llround(median(offsets)), drift};
}

std::int64_t ClockModel::offset(std::int64_t mine) const {
    return line_.offset_ns + std::llround(line_.drift * static_cast<double>(mine - line_.at_ns));
}

std::int64_t ClockModel::mine(std::int64_t other) const {
    const std::int64_t since = other - line_.at_ns - line_.offset_ns;  // by the other clock
    return line_.at_ns + std::llround(static_cast<double>(since) -
                                      line_.drift / (1 + line_.drift) * static_cast<double>(since));
}

std::int64_t ClockModel::trusted_ns() const {
    if (latest_.empty()) return 0;
    const std::int64_t learned = latest_.back().at_ns - latest_.front().at_ns;
    return std::clamp(learned / 2, least_trust_ns, most_trust_ns);
}

}  // namespace tutti
