// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/hold_out.hpp"

#include <algorithm>
#include <cmath>

#include "autotune/table/verdict.hpp"
#include "autotune/tuner/tasks.hpp"
#include "base/clock.hpp"
#include "results/statistics/statistics.hpp"
#include "workloads/bench/buffer_pool.hpp"

namespace tutti {

namespace {

constexpr double parts = 1e6;  // statistics take whole numbers

// Returns library over choice, pair by pair.
std::vector<double> gains_of(std::span<const std::int64_t> choice,
                             std::span<const std::int64_t> library) {
    std::vector<double> gains;
    for (std::size_t i = 0; i < std::min(choice.size(), library.size()); ++i)
        gains.push_back(static_cast<double>(library[i]) /
                        static_cast<double>(std::max<std::int64_t>(choice[i], 1)));
    return gains;
}

bool is_settled(const HoldOut& found) { return found.gain_low > 1 || found.gain_high < 1; }

}  // namespace

std::vector<Bytes> sizes_of(const Section& section) {
    std::vector<Bytes> sizes;
    for (const Range& range : section.ranges) {
        for (const RangeEvidence& evidence : range.evidence) sizes.push_back(evidence.size);
        if (range.evidence.empty()) sizes.push_back(std::max(range.from, Bytes{1}));
    }
    return sizes;
}

void set_gain(HoldOut& found, std::span<const double> gains) {
    std::vector<std::int64_t> whole;
    for (const double gain : gains) whole.push_back(std::llround(parts * gain));
    const Summary summary = summarise(whole);
    found.gain = static_cast<double>(summary.p50) / parts;
    found.gain_low = static_cast<double>(summary.ci95_lo) / parts;
    found.gain_high = static_cast<double>(summary.ci95_hi) / parts;
}

TimeInterval interval_of(std::span<const std::int64_t> samples_ns) {
    const Summary summary = summarise(samples_ns);
    return {.p50 = static_cast<double>(summary.p50),
            .low = static_cast<double>(summary.ci95_lo),
            .high = static_cast<double>(summary.ci95_hi),
            .n = static_cast<std::int64_t>(summary.n)};
}

TimeInterval interval_of(std::span<const double> samples_ns) {
    std::vector<std::int64_t> whole;
    for (const double sample : samples_ns) whole.push_back(std::llround(sample));
    return interval_of(whole);
}

PairComparison compare(Planner& planner, const BufferPool& pool,
                       const MeasuringEvaluator::Race& race, const HoldOutPair& pair, Bytes size,
                       const HoldOutOptions& options) {
    World& world = planner.world();
    const Call call = call_of(race, world.size(), size);
    const PooledBuffers buffers = pool.buffers_for(call, false, race.subject.buffers);
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<Trial> trials;
    for (const Candidate* candidate : {&pair.choice, &pair.library}) {
        const bool runs = !refusal(planner, *candidate, call, buffers, race.environment.hosts);
        if (!true_on_all_ranks(world, runs)) return {};
        operations.push_back(
            operation_of(planner, *candidate, call, buffers, race.environment).operation);
        trials.push_back(trial_of(*operations.back(), world, call, buffers, true));
    }
    std::vector<std::int64_t> of_choice, of_library;
    HoldOut found{.library = pair.library.name()};
    Protocol protocol = race.protocol;
    const std::int64_t began = now_ns();
    for (int pairs = options.pairs;; pairs *= 2) {
        protocol.fixed_samples = pairs - static_cast<int>(of_choice.size());
        protocol.seed += 1;
        const auto measured = measure(world, trials, protocol);
        const bool is_wrong = measured[0].check.state == CheckState::fail;
        for (const Measured& each : measured)
            if (each.check.state == CheckState::fail || each.samples.empty())
                return {.choice_is_wrong = is_wrong};
        of_choice.insert(of_choice.end(), measured[0].samples.begin(), measured[0].samples.end());
        of_library.insert(of_library.end(), measured[1].samples.begin(), measured[1].samples.end());
        set_gain(found, gains_of(of_choice, of_library));
        const double seconds = seconds_since(began);
        if (from_rank0(world, is_settled(found) || 2 * pairs > options.most_pairs ||
                                  seconds > options.seconds))
            break;
        protocol.warm_up_calls = 0;
    }
    found.choice = interval_of(std::span<const std::int64_t>(of_choice));
    found.default_ = interval_of(std::span<const std::int64_t>(of_library));
    return {.seen = found};
}

std::int64_t LibraryComparison::improve(Section& section, const std::vector<Candidate>& all) const {
    if (library == nullptr || section.ranges.empty()) return 0;
    std::int64_t samples = 0;
    auto verdicts = verdicts_of(section, sizes);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        Verdict& verdict = verdicts[i];
        progress(static_cast<double>(i) / static_cast<double>(verdicts.size()));
        if (!is_wanted(verdict.evidence.size)) continue;
        if (from_rank0(planner.world(), is_over())) {
            section.is_complete = false;  // the rest is not compared
            break;
        }
        const auto choice = std::ranges::find(all, verdict.choice, &Candidate::configuration);
        if (choice == all.end() || choice->configuration == library->configuration) continue;
        auto [seen, choice_is_wrong] =
            compare(planner, pool, race, {*choice, *library}, verdict.evidence.size, options);
        if (choice_is_wrong) {
            wrong(choice->configuration);
            replace_wrong(verdicts, choice->configuration, library->configuration);
        }
        if (!seen) continue;
        seen->launch = session;
        verdict.evidence.hold_out = seen;
        samples += seen->choice.n + seen->default_.n;
        let_default_stay(verdict);
    }
    section.ranges = ranges_of(verdicts);
    return samples;
}

void hold_out(Planner& planner, const TuneRequest& request, const JobShape& job_shape,
              const std::string& session, const Table& table, const TuneEvents& events) {
    const std::int64_t began = now_ns();
    World& world = planner.world();
    const BufferPool pool(world, most_bytes(request, world.size()), kinds_for(request, world),
                          device_buffers(planner, request.search_space.transports));
    std::vector<std::pair<TuneTask, Section>> sections;
    for (const TuneTask& task : tasks_of(request, pool.kinds()))
        for (const Section& section : table.sections)
            if (section.job_shape == job_shape && section.subject == task.subject)
                sections.emplace_back(task, section);
    for (std::size_t i = 0; i < sections.size(); ++i) {
        auto& [task, section] = sections[i];
        const double seconds = share_of(world, began, request.budget_seconds,
                                        1 / static_cast<double>(sections.size() - i));
        const std::int64_t began_here = now_ns();
        const MeasuringEvaluator::Race race{task.subject, task.type, task.op, request.environment,
                                            request.protocol};
        const auto all = candidates(task.subject.collective, request.search_space);
        events.progress(task.subject, 0, "");
        const auto sizes = sizes_of(section);
        LibraryComparison comparison{
            .planner = planner,
            .pool = pool,
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
        cost.hold_out_samples = comparison.improve(section, all);
        cost.hold_out_seconds = seconds_since(began_here);
        section.launches.push_back(session);
        events.section(section);
        events.cost(task.subject, cost);
    }
}

}  // namespace tutti
