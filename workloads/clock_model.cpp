// SPDX-License-Identifier: Apache-2.0
#include "workloads/clock_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "results/line_fit.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_sightings = 8;
constexpr std::int64_t least_trust_ns = 100'000'000, most_trust_ns = 1'000'000'000;

}  // namespace

Sighting sight(std::span<const Ping> pings) {
    std::int64_t there = INT64_MAX, back = INT64_MAX;  // each with the clocks' difference in it
    for (const Ping& ping : pings) {
        there = std::min(there, ping.there - ping.sent);
        back = std::min(back, ping.back - ping.there);
    }
    const std::int64_t first = pings.front().sent, last = pings.back().back;
    // there = way + offset, back = way - offset.
    return {first + (last - first) / 2, (there - back) / 2, (there + back + 1) / 2};
}

void ClockModel::learn(const Sighting& sighting) {
    if (!latest_.empty() &&
        std::abs(sighting.offset_ns - offset(sighting.at_ns)) > sighting.reach_ns)
        latest_.clear();
    latest_.push_back(sighting);
    if (latest_.size() > most_sightings) latest_.pop_front();
    std::int64_t least_reach = INT64_MAX;
    for (const Sighting& each : latest_) least_reach = std::min(least_reach, each.reach_ns);
    // Relative to the latest, as a double has no room for days in nanoseconds.
    const Sighting& now = latest_.back();
    std::vector<double> times, offsets;
    for (const Sighting& each : latest_) {
        if (each.reach_ns > 2 * least_reach) continue;  // a disturbed one
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
