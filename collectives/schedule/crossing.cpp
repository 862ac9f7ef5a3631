// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/crossing.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

// Counts what crosses between the groups of one level.
class LevelCounter {
public:
    LevelCounter(const RankGroups& groups, int ranks, int chunks_per_vector)
        : group_of_(as_size(ranks)) {
        for (std::size_t group = 0; group < groups.size(); ++group)
            for (const Rank rank : groups[group]) at(group_of_, rank) = static_cast<int>(group);
        counts_.sent.resize(groups.size());
        counts_.received.resize(groups.size());
        counts_.chunks_per_vector = chunks_per_vector;
    }

    void add(int step, const Transfer& transfer, bool is_new_message) {
        const int from = at(group_of_, transfer.from), to = at(group_of_, transfer.to);
        if (from == to) return;
        if (std::exchange(last_step_, step) != step) ++counts_.steps;
        at(counts_.sent, from) += transfer.chunks.count;
        at(counts_.received, to) += transfer.chunks.count;
        ++counts_.transfers;
        if (is_new_message) ++counts_.messages;
    }

    const Counts& counts() const { return counts_; }

private:
    std::vector<int> group_of_;
    int last_step_ = -1;
    Counts counts_;
};

}  // namespace

RankGroups each_alone(int ranks) {
    RankGroups groups;
    for (const Rank rank : all_ranks(ranks)) groups.push_back({rank});
    return groups;
}

double vectors_in(const Counts& counts) {
    const long chunks = std::reduce(counts.sent.begin(), counts.sent.end());
    return static_cast<double>(chunks) / counts.chunks_per_vector;
}

std::vector<Counts> count_crossings(const Schedule& schedule, const CollectiveSpec& spec,
                                    std::span<const RankGroups> levels, long most_transfers) {
    const int ranks = schedule.ranks();
    const bool per_pair = spec.collective() == Collective::all_to_all;
    std::vector<LevelCounter> counters;
    for (const RankGroups& groups : levels)
        counters.emplace_back(groups, ranks, schedule.chunks() / (per_pair ? ranks : 1));
    // The step of each rank's latest message and its receiver. Schedules add what a rank sends to
    // another in a step one after the other.
    std::vector<std::pair<int, Rank>> latest(as_size(ranks), {-1, Rank{}});
    long transfers = 0;
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer& transfer) {
            if (transfer.from == transfer.to) return;
            if (++transfers > most_transfers)
                throw Error("more than " + std::to_string(most_transfers) + " transfers on " +
                            std::to_string(ranks) + " ranks; use fewer --ranks");
            const std::pair now{step, transfer.to};
            const bool is_new_message = std::exchange(at(latest, transfer.from), now) != now;
            for (LevelCounter& counter : counters) counter.add(step, transfer, is_new_message);
        });
    std::vector<Counts> all;
    for (const LevelCounter& counter : counters) all.push_back(counter.counts());
    return all;
}

namespace {

// Each group but the root's is told, or tells: G - 1 messages. If all groups depend on all others,
// one must know of all first, which takes G - 1 messages, and then the other G - 1 must be told
// (Harary and Schwenk 1974). In a scan, each group that depends on others must be told.
long least_messages(Collective collective, const LeastCrossing& least) {
    const auto others = static_cast<long>(least.in.size()) - 1;
    if (others < 1) return 0;
    if (is_prefix(collective))
        return std::ranges::count_if(least.in, [](double in) { return in > 0; });
    return has_root(collective) ? others : 2 * others;
}

}  // namespace

double LeastCrossing::busiest() const {
    double busiest = out.empty() ? 0 : total / static_cast<double>(out.size());
    for (const auto* direction : {&out, &in})
        for (const double one : *direction) busiest = std::max(busiest, one);
    return busiest;
}

LeastCrossing least_crossing(const CollectiveSpec& spec, const RankGroups& groups) {
    const std::size_t count = groups.size();
    double ranks = 0;
    for (const auto& group : groups) ranks += static_cast<double>(group.size());
    const auto others = static_cast<double>(count) - 1;

    LeastCrossing least{std::vector<double>(count), std::vector<double>(count)};
    for (std::size_t group = 0; group < count && count > 1; ++group) {
        const auto here = static_cast<double>(groups[group].size());
        const bool has_root = std::ranges::find(groups[group], spec.root()) != groups[group].end();
        double& out = least.out[group];
        double& in = least.in[group];
        switch (spec.collective()) {
            case Collective::all_reduce:  // its share to others, a result or their shares from them
                out = in = 1;
                least.total = 2 * others;
                break;
            case Collective::reduce_scatter:  // a share of each other block; one sum
                out = ranks - here;
                in = here;
                least.total += out;
                break;
            case Collective::all_gather:
                out = here;
                in = ranks - here;
                least.total += in;
                break;
            case Collective::all_to_all:
                out = in = here * (ranks - here);
                least.total += out;
                break;
            case Collective::broadcast:
                (has_root ? out : in) = 1;
                least.total = others;
                break;
            case Collective::reduce:
                (has_root ? in : out) = 1;
                least.total = others;
                break;
            case Collective::scatter:
                (has_root ? out : in) = has_root ? ranks - here : here;
                if (has_root) least.total = out;
                break;
            case Collective::gather:
                (has_root ? in : out) = has_root ? ranks - here : here;
                if (has_root) least.total = in;
                break;
            case Collective::scan:
            case Collective::exscan: {  // a sum of ranks before its last one, for those after its
                                        // first
                const auto [first, last] = std::ranges::minmax(groups[group]);
                in = last.index >= std::ssize(groups[group]) ? 1 : 0;
                out = first.index < ranks - here ? 1 : 0;
                least.total += in;
                break;
            }
            default:  // no bound is known
                break;
        }
    }
    least.messages = least_messages(spec.collective(), least);
    return least;
}

}  // namespace tutti
