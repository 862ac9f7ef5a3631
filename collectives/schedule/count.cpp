// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/count.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/busiest_share.hpp"
#include "collectives/schedule/crossing.hpp"

namespace tutti {
namespace {

long most(const std::vector<long>& counts) {
    return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

}  // namespace

long Counts::most_sent() const { return most(sent); }
long Counts::most_received() const { return most(received); }

double Counts::busiest() const {
    return static_cast<double>(std::max(most_sent(), most_received())) / chunks_per_vector;
}

Counts count(const Schedule& schedule, const CollectiveSpec& spec, long most_transfers) {
    const RankGroups ranks = each_alone(schedule.ranks());
    return count_crossings(schedule, spec, {&ranks, 1}, most_transfers).front();
}

// Data spreads from a rank, or meets at one, in as many steps as the ranks that it comes from or
// goes to can be doubled.
LowerBound lower_bound(Collective collective, int ranks) {
    if (ranks == 1) return {};
    const double busiest = busiest_share(collective, ranks);
    const long peers =
        CollectiveSpec{collective, ranks}.blocks() == 1 ? ranks - 1 : std::lround(busiest * ranks);
    const int steps = std::bit_width(static_cast<unsigned long>(peers));
    return {steps, busiest};
}

}  // namespace tutti
