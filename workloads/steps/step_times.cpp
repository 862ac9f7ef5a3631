// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/step_times.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace tutti {
namespace {

bool took_part(const StepStamps::Span& call) { return call.end_ns != 0; }

// Returns when the last rank came to each call.
std::vector<std::int64_t> last_arrivals(std::span<const StepStamps> all) {
    std::vector<std::int64_t> last(all.front().calls.size(), 0);
    for (const StepStamps& of_rank : all)
        for (std::size_t call = 0; call < last.size(); ++call)
            last[call] = std::max(last[call], of_rank.calls[call].start_ns);
    return last;
}

}  // namespace

StepTimes times_of(std::span<const StepStamps> all) {
    StepTimes times;
    std::int64_t begin = INT64_MIN, end = INT64_MIN;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        begin = std::max(begin, all[rank].begin_ns);
        if (all[rank].end_ns > end) times.last = Rank{static_cast<int>(rank)};
        end = std::max(end, all[rank].end_ns);
        times.compute = std::max(times.compute, all[rank].compute_ns);
    }
    times.step = end - begin;
    const auto last = last_arrivals(all);
    for (const StepStamps& of_rank : all) {
        std::int64_t work = 0;
        for (std::size_t call = 0; call < last.size(); ++call) {
            const auto& mine = of_rank.calls[call];
            if (!took_part(mine)) continue;
            // A rank that ended before the last one started waited for none: the root of a
            // broadcast.
            times.wait += std::min(last[call], mine.end_ns) - mine.start_ns;
            work += std::max<std::int64_t>(mine.end_ns - last[call], 0);
        }
        times.work = std::max(times.work, work);
    }
    times.wait /= static_cast<std::int64_t>(all.size());
    return times;
}

StepTimes times_of(World& world, const GlobalClock* clock, const StepStamps& mine) {
    const auto common = [&](std::int64_t local) {
        return clock != nullptr && local != 0 ? clock->from_local(local) : local;
    };
    std::vector<std::int64_t> words{common(mine.begin_ns), common(mine.end_ns), mine.compute_ns};
    for (const auto& call : mine.calls)
        words.insert(words.end(), {common(call.start_ns), common(call.end_ns)});
    const std::size_t each = words.size();
    std::vector<std::int64_t> gathered(each * as_size(world.size()));
    world.all_gather(std::as_bytes(std::span(words)), std::as_writable_bytes(std::span(gathered)));
    std::vector<StepStamps> all(as_size(world.size()));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const std::int64_t* of_rank = &gathered[rank * each];
        all[rank] = {.begin_ns = of_rank[0], .end_ns = of_rank[1], .compute_ns = of_rank[2]};
        for (std::size_t i = 3; i < each; i += 2)
            all[rank].calls.push_back({of_rank[i], of_rank[i + 1]});
    }
    return times_of(all);
}

}  // namespace tutti
