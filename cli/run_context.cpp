// SPDX-License-Identifier: Apache-2.0
#include "cli/run_context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/known_machine.hpp"
#include "cli/provenance.hpp"
#include "topology/detect/detect.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

// From the caches, and what was measured of them; the same on all ranks. Collective.
HostTuning tuning_of_hosts(World& world, const std::optional<Limits>& limits,
                           std::optional<Bytes> stream_from) {
    HostTuning tuning;
    if (world.is_first()) tuning = tuning_from(detect_structure());
    if (limits) tuning.stream_from = limits->stream_from;
    if (stream_from) {
        tuning.stream_from = *stream_from;
        tuning.adapts_stores = false;
    }
    return from_rank0(world, tuning);
}

}  // namespace

RunContext::RunContext(World& ranks, Reporter& voice, const RunOptions& options,
                       const PlannerSetup& setup)
    : world(ranks),
      reporter(voice),
      limits(choose_limits(world, options.limits, limits_notes)),
      ranks_on_core(options.pin ? pin_ranks(world) : 0),
      tuning(tuning_of_hosts(world, limits, setup.stream_from)),
      planner(world, setup.fault),
      launch(describe_launch(world, reporter.session().id)),
      clock(world) {
    planner.tune(tuning);
    planner.repeat_on_devices(setup.runs_on_devices);
    if (!world.one_host()) launch.clock = clock.record();
    notes = describe_in_words(launch, world);
    if (ranks_on_core > 0) notes.push_back(in_words_of_pinning(ranks_on_core));
}

std::vector<std::string> RunContext::notes_with_command() const {
    std::vector<std::string> all = notes;
    all.insert(all.begin() + 1, fmt::format("{}", fmt::join(reporter.session().argv, " ")));
    return all;
}

Exit in_context(World& world, const RunOptions& run, std::uint64_t seed, const PlannerSetup& setup,
                const std::function<Exit(RunContext&)>& work) {
    Reporter reporter(world, describe_session(run, seed), run.results_file());
    return reporter.recording_failures([&] {
        RunContext context(world, reporter, run, setup);
        return work(context);
    });
}

}  // namespace tutti
