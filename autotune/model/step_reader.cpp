// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/step_reader.hpp"

#include <algorithm>

namespace tutti {

CoreAssignment::CoreAssignment(const Placement& placement, int ranks, int cores_of_host)
    : host_of(static_cast<std::size_t>(ranks)),
      core_of(static_cast<std::size_t>(ranks)),
      hosts(static_cast<int>(placement.nodes().size())) {
    for (int host = 0; host < hosts; ++host) {
        const auto& members = at(placement.nodes(), host);
        const bool is_full = static_cast<int>(members.size()) > cores_of_host;
        is_oversubscribed = is_oversubscribed || is_full;
        const int used = is_full ? cores_of_host : static_cast<int>(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto rank = static_cast<std::size_t>(members[i].index);
            host_of[rank] = host;
            core_of[rank] =
                cores + static_cast<int>(i * static_cast<std::size_t>(used) / members.size());
        }
        cores += used;
        most_on_core = std::max(most_on_core, (static_cast<int>(members.size()) + used - 1) / used);
    }
}

namespace {

// Less than a millisecond's work.
constexpr std::size_t most_in_step = 1 << 15;

// Returns the root, its neighbour, one in the middle, and the last.
std::vector<Rank> sample_of(int ranks, Rank root) {
    std::vector<Rank> sample;
    for (const int index : {root.index, (root.index + 1) % ranks, ranks / 2, ranks - 1})
        if (std::ranges::find(sample, Rank{index}) == sample.end()) sample.push_back({index});
    return sample;
}

}  // namespace

StepReader::StepReader(const Schedule& schedule, Rank root, const CoreAssignment& assignment)
    : schedule_(schedule),
      sample_(sample_of(schedule.ranks(), root)),
      weights_(static_cast<std::size_t>(schedule.ranks())) {
    std::vector<int> ranks(static_cast<std::size_t>(assignment.hosts)), sampled(ranks.size());
    const auto host_of = [&](Rank rank) {
        return static_cast<std::size_t>(at(assignment.host_of, rank));
    };
    for (const Rank rank : all_ranks(schedule.ranks())) ++ranks[host_of(rank)];
    for (const Rank rank : sample_) ++sampled[host_of(rank)];
    for (const Rank rank : sample_)
        at(weights_, rank) = static_cast<double>(ranks[host_of(rank)]) / sampled[host_of(rank)];
}

int StepReader::stride_for(std::int64_t most) {
    const int steps = schedule_.steps();
    if (steps < 4) return 1;
    std::int64_t three = 0;
    for (const int step : {0, steps / 2, steps - 1}) {
        std::int64_t transfers = 0;
        schedule_.visit(step, [&](const Transfer&) { ++transfers; });
        visited_ += transfers;
        three += std::min(transfers, static_cast<std::int64_t>(most_in_step));
    }
    return static_cast<int>(std::min<std::int64_t>(three * steps / 3 / most + 1, steps));
}

void StepReader::read(int step) {
    if (is_sampled_) return read_sample(step);
    transfers_.clear();
    schedule_.visit(step, [&](const Transfer& transfer) {
        ++visited_;
        if (transfers_.size() <= most_in_step) transfers_.push_back(transfer);
    });
    is_sampled_ = transfers_.size() > most_in_step;
    if (is_sampled_) read_sample(step);
}

void StepReader::read_sample(int step) {
    transfers_.clear();
    for (auto rank = sample_.begin(); rank != sample_.end(); ++rank) {
        const auto is_known = [&](Rank end) {
            return std::find(sample_.begin(), rank, end) != rank;
        };
        schedule_.visit(
            step,
            [&](const Transfer& transfer) {
                ++visited_;
                if (!is_known(transfer.from) && !is_known(transfer.to))
                    transfers_.push_back(transfer);
            },
            *rank);
    }
}

}  // namespace tutti
