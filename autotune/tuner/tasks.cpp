// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/tasks.hpp"

#include <algorithm>

#include "autotune/search/ranges.hpp"
#include "autotune/table/verdict.hpp"
#include "autotune/tuner/hold_out.hpp"
#include "base/clock.hpp"

namespace tutti {

std::vector<TuneTask> tasks_of(const TuneRequest& request, const std::vector<BufferKind>& kinds) {
    std::vector<TuneTask> tasks;
    for (const Collective collective : request.collectives)
        for (const DataType type : request.types)
            for (const Op op : request.ops)
                for (const BufferKind kind : kinds) {
                    const Subject subject{collective, class_of(collective, type),
                                          class_of(collective, op), kind};
                    const auto is_same = [&](const TuneTask& task) {
                        return task.subject == subject;
                    };
                    if (std::ranges::none_of(tasks, is_same))
                        tasks.push_back({subject, type, reduces(collective) ? op : Op::sum});
                }
    return tasks;
}

std::size_t most_bytes(const TuneRequest& request, int ranks) {
    std::size_t most = 0;
    for (const Collective collective : request.collectives)
        for (const DataType type : request.types)
            for (const Bytes size : request.sizes) {
                const MeasuringEvaluator::Race race{.subject = {collective}, .type = type};
                most =
                    std::max(most, BufferPool::bytes_for(call_of(race, ranks, size), ranks, false));
            }
    return most;
}

const Candidate* library_in(const std::vector<Candidate>& all) {
    const auto is_library = [](const Candidate& each) {
        return !each.is_ours() && each.configuration.algorithm.empty();
    };
    const auto found = std::ranges::find_if(all, is_library);
    return found == all.end() ? nullptr : &*found;
}

std::vector<WeighedTask> shortest_first(const std::vector<TuneTask>& tasks,
                                        const SearchSpace& search_space) {
    std::vector<WeighedTask> weighed;
    for (const TuneTask& task : tasks) {
        const auto all = candidates(task.subject.collective, search_space);
        weighed.push_back({task, static_cast<double>(all.size())});
    }
    std::ranges::stable_sort(weighed, {}, &WeighedTask::work);
    return weighed;
}

double share_of(World& world, std::int64_t began_ns, double budget, double share) {
    const double left = std::max(budget - seconds_since(began_ns), 0.0);
    return from_rank0(world, left) * share;
}

std::vector<Range> ranges_found(std::span<const Finding> findings,
                                const std::function<const Configuration&(int arm)>& configuration,
                                double hysteresis) {
    const auto verdict_of = [&](const Finding& finding, int arm) {
        Verdict verdict{.choice = configuration(arm), .origin = Origin::interpolated};
        verdict.evidence.size = finding.size;
        for (const Evidence& entry : finding.entries) {
            if (entry.samples_ns.empty()) continue;
            const TimeInterval time = interval_of(std::span<const double>(entry.samples_ns));
            if (entry.arm == arm) {
                verdict.evidence.time = time;
                verdict.origin = Origin::measured;
            } else if (!verdict.evidence.runner_up) {
                verdict.evidence.runner_up = configuration(entry.arm);
                verdict.evidence.runner_up_time = time;
            }
        }
        return verdict;
    };
    std::vector<Verdict> verdicts;
    const FewerRanges fewer = ranges_of(findings, hysteresis);
    for (const SizeRange& range : fewer.ranges)
        for (std::size_t i = range.first; i <= range.last; ++i)
            verdicts.push_back(verdict_of(findings[i], range.arm));
    return ranges_of(verdicts);
}

}  // namespace tutti
