// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/level_shares.hpp"

#include <algorithm>
#include <utility>

#include "base/index.hpp"
#include "workloads/timing/timeline.hpp"

namespace tutti {
namespace {

constexpr std::int64_t most_chunks = 1'000'000;     // counted in some ms
constexpr std::int64_t most_step_ends = 1'000'000;  // ranks gather them: 8 MB
constexpr std::int64_t most_timed_calls = 5;
constexpr std::int64_t ns_of_long_calls = 100'000'000;  // one is timed

// The levels at which some ranks share a part, but no smaller one.
class SharedLevels {
public:
    explicit SharedLevels(const Placement& placement) {
        std::size_t parts = 0;
        for (const auto& node : placement.nodes()) parts += node.size();  // each rank alone
        const std::size_t ranks = parts;
        for (const PlacementLevel& known : placement.levels()) {
            if (known.groups.size() == parts) {
                // The largest up to the host gives its name: readers look for hosts.
                if (!levels_.empty() && known.level <= Level::host) levels_.back() = known.level;
                continue;
            }
            parts = known.groups.size();
            levels_.push_back(known.level);
            std::vector<std::size_t>& part_of = part_of_.emplace_back(ranks);
            for (std::size_t part = 0; part < parts; ++part)
                for (const Rank rank : known.groups[part]) part_of[as_size(rank)] = part;
        }
        is_divided_ = parts > 1;
    }

    std::vector<LevelShare> shares() const {
        std::vector<LevelShare> shares;
        for (const Level level : levels_) shares.push_back({.within = level});
        if (is_divided_) shares.push_back({});
        return shares;
    }

    // Returns the index of the share between these ranks.
    std::size_t of(const Transfer& transfer) const {
        const auto is_shared = [&](const std::vector<std::size_t>& part_of) {
            return at(part_of, transfer.from) == at(part_of, transfer.to);
        };
        return static_cast<std::size_t>(std::ranges::find_if(part_of_, is_shared) -
                                        part_of_.begin());
    }

private:
    std::vector<Level> levels_;
    std::vector<std::vector<std::size_t>> part_of_;  // for each level, by rank
    bool is_divided_ = false;
};

}  // namespace

std::optional<CountedLevels> count_levels(const Schedule& schedule, const Call& call,
                                          const Placement& placement) {
    const SharedLevels levels(placement);
    CountedLevels counted{.shares = levels.shares(), .farthest = {}};
    if (counted.shares.size() < 2) return std::nullopt;
    const Layout layout(call, {call.collective, schedule.ranks(), call.root}, Rank{0},
                        schedule.chunks());
    // The step and the receiver of each rank's latest message.
    std::vector<std::pair<int, Rank>> latest(as_size(schedule.ranks()), {-1, Rank{}});
    std::int64_t chunks = 0;
    for (int step = 0; step < schedule.steps() && chunks <= most_chunks; ++step) {
        std::size_t& farthest = counted.farthest.emplace_back(0);
        schedule.visit(step, [&](const Transfer& transfer) {
            if (transfer.from == transfer.to || chunks > most_chunks) return;
            chunks += transfer.chunks.count;
            std::size_t bytes = 0;
            for (int i = 0; i < transfer.chunks.count; ++i)
                bytes += layout.bytes_of(transfer.chunks.first + i);
            if (bytes == 0) return;  // is not sent
            const std::size_t level = levels.of(transfer);
            farthest = std::max(farthest, level);
            LevelShare& share = counted.shares[level];
            share.bytes += static_cast<std::int64_t>(bytes);
            const std::pair now{step, transfer.to};
            if (std::exchange(at(latest, transfer.from), now) != now) ++share.messages;
        });
    }
    if (chunks > most_chunks) return std::nullopt;
    return counted;
}

void add_times(CountedLevels& levels, const std::vector<std::int64_t>& ends) {
    if (levels.farthest.empty() || ends.size() != levels.farthest.size() + 1) return;
    for (LevelShare& share : levels.shares) share.ns = 0;
    std::int64_t last = 0;
    for (std::size_t step = 0; step < ends.size(); ++step) {
        // The end of the call belongs to the last step.
        const std::size_t level = levels.farthest[std::min(step, levels.farthest.size() - 1)];
        *levels.shares[level].ns += ends[step] - last;
        last = ends[step];
    }
}

std::vector<LevelShare> level_shares(World& world, Operation& operation, const Call& call,
                                     const Placement& placement,
                                     const std::function<void()>& before_call,
                                     std::int64_t ns_of_call) {
    const Plan* plan = operation.as_plan();
    if (plan == nullptr) return {};
    const Schedule& schedule = plan->schedule();
    std::optional<CountedLevels> levels;
    if (world.is_first()) levels = count_levels(schedule, call, placement);
    const std::int64_t timed_calls =
        from_rank0(world, ns_of_call > ns_of_long_calls ? 1 : most_timed_calls);
    const std::int64_t step_ends =
        std::int64_t{world.size()} * (schedule.steps() + 1) * timed_calls;
    if (!from_rank0(world, levels && step_ends <= most_step_ends))
        return levels ? levels->shares : std::vector<LevelShare>();
    const std::vector<std::int64_t> ends =
        step_ends_of(world, operation, {.timed = timed_calls, .warm_up = 1}, before_call);
    if (!levels) return {};
    add_times(*levels, ends);
    return levels->shares;
}

}  // namespace tutti
