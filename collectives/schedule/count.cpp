// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/count.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "base/busiest_share.hpp"
#include "base/error.hpp"
#include "base/index.hpp"

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
    const auto ranks = static_cast<std::size_t>(schedule.ranks());
    Counts counts;
    counts.sent.resize(ranks);
    counts.received.resize(ranks);
    const bool per_pair = spec.collective() == Collective::all_to_all;
    counts.chunks_per_vector = schedule.chunks() / (per_pair ? schedule.ranks() : 1);
    // The step of each rank's latest message and its receiver. Schedules add what a rank sends to
    // another in a step one after the other.
    struct Latest {
        int step = -1;
        Rank to;
        bool operator==(const Latest&) const = default;
    };
    std::vector<Latest> latest(ranks);
    for (int step = 0; step < schedule.steps(); ++step) {
        const long before = counts.transfers;
        schedule.visit(step, [&](const Transfer& transfer) {
            if (transfer.from == transfer.to) return;
            const Latest now{step, transfer.to};
            if (std::exchange(at(latest, transfer.from), now) != now) ++counts.messages;
            at(counts.sent, transfer.from) += transfer.chunks.count;
            at(counts.received, transfer.to) += transfer.chunks.count;
            if (++counts.transfers > most_transfers)
                throw Error("more than " + std::to_string(most_transfers) + " transfers on " +
                            std::to_string(ranks) + " ranks; use fewer --ranks");
        });
        if (counts.transfers > before) ++counts.steps;
    }
    return counts;
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
