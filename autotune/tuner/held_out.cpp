// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/held_out.hpp"

#include <algorithm>

#include "autotune/table/verdict.hpp"
#include "autotune/tuner/tasks.hpp"
#include "base/clock.hpp"
#include "workloads/bench/device_buffers.hpp"

namespace tutti {

std::int64_t HeldOut::improve(Section& section, const std::vector<Candidate>& all) const {
    if (library == nullptr || section.ranges.empty()) return 0;
    std::int64_t samples = 0;
    auto verdicts = verdicts_of(section, sizes);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        Verdict& verdict = verdicts[i];
        progress(static_cast<double>(i) / static_cast<double>(verdicts.size()));
        if (!is_wanted(verdict.evidence.size)) continue;
        if (from_rank0(planner.world(), is_over())) {
            section.is_complete = false;  // nobody has compared the rest
            break;
        }
        const auto choice = std::ranges::find(all, verdict.choice, &Candidate::configuration);
        if (choice == all.end() || !choice->is_ours()) continue;
        bool is_wrong = false;
        auto seen = hold_out(planner, stage, race, {*choice, *library}, verdict.evidence.size,
                             options, is_wrong);
        if (is_wrong) {
            wrong(verdict.choice);
            verdict = {.choice = library->configuration,
                       .origin = Origin::kept,
                       .evidence = {.size = verdict.evidence.size}};
        }
        if (!seen) continue;
        seen->launch = session;
        verdict.evidence.hold_out = seen;
        samples += seen->choice.n + seen->default_.n;
        if (verdict.evidence.time.n == 0) verdict.evidence.time = seen->choice;
        let_default_stay(verdict);
    }
    section.ranges = ranges_of(verdicts);
    return samples;
}

namespace {

// What a section is about: where it has evidence, and where a range begins that has none.
std::vector<Bytes> sizes_of(const Section& section) {
    std::vector<Bytes> sizes;
    for (const Range& range : section.ranges) {
        for (const RangeEvidence& evidence : range.evidence) sizes.push_back(evidence.size);
        if (range.evidence.empty()) sizes.push_back(std::max(range.from, Bytes{1}));
    }
    return sizes;
}

}  // namespace

void hold_out(Planner& planner, const TuneRequest& request, const JobShape& setting,
              const std::string& session, const Table& table, const TuneEvents& events) {
    const std::int64_t began = now_ns();
    World& world = planner.world();
    const BufferPool stage(world, most_bytes(request, world.size()), kinds_for(request, world),
                           device_buffers(planner, request.search_space.transports));
    std::vector<std::pair<TuneTask, Section>> sections;
    for (const TuneTask& task : tasks_of(request, stage.kinds()))
        for (const Section& section : table.sections)
            if (section.setting == setting && section.subject == task.subject)
                sections.emplace_back(task, section);
    for (std::size_t i = 0; i < sections.size(); ++i) {
        auto& [task, section] = sections[i];
        const double seconds = share_of(world, began, request.budget_seconds, sections.size() - i);
        const std::int64_t began_here = now_ns();
        const MeasuringEvaluator::Race race{task.subject, task.type, task.op, request.environment,
                                            request.protocol};
        const auto all = candidates(task.subject.collective, request.search_space);
        events.progress(task.subject, 0, "");
        const auto sizes = sizes_of(section);
        HeldOut held{
            .planner = planner,
            .stage = stage,
            .race = race,
            .options = request.hold_out,
            .sizes = sizes,
            .first = request.sizes.front(),
            .last = request.sizes.back(),
            .session = session,
            .library = library_in(all),
            .is_over = [=] { return seconds_since(began_here) > seconds; },
            .wrong =
                [&, &subject = task.subject](const Configuration& configuration) {
                    events.wrong(subject, configuration);
                },
            .progress = [&, &subject = task.subject](
                            double share) { events.progress(subject, share, against_library); }};
        TuneCost cost;
        cost.hold_out_samples = held.improve(section, all);
        cost.hold_out_seconds = seconds_since(began_here);
        section.launches.push_back(session);
        events.section(section);
        events.cost(task.subject, cost);
    }
}

}  // namespace tutti
