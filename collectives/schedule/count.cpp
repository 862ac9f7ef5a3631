// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/count.hpp"

#include <algorithm>
#include <bit>
#include <string>

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
    for (int step = 0; step < schedule.steps(); ++step) {
        const long before = counts.transfers;
        schedule.visit(step, [&](const Transfer& transfer) {
            if (transfer.from == transfer.to) return;
            at(counts.sent, transfer.from) += transfer.chunks.count;
            at(counts.received, transfer.to) += transfer.chunks.count;
            if (++counts.transfers > most_transfers)
                throw Error("more than " + std::to_string(most_transfers) + " messages on " +
                            std::to_string(ranks) + " ranks; use fewer --ranks");
        });
        if (counts.transfers > before) ++counts.steps;
    }
    return counts;
}

LowerBound lower_bound(Collective collective, int ranks) {
    if (ranks == 1) return {};
    const int rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
    const double others = static_cast<double>(ranks - 1) / ranks;
    switch (collective) {
        case Collective::all_reduce:
            return {rounds, 2 * others};
        case Collective::broadcast:
        case Collective::reduce:
            return {rounds, 1};
        default:
            return {rounds, others};
    }
}

}  // namespace tutti
