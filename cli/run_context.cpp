// SPDX-License-Identifier: Apache-2.0
#include "cli/run_context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "autotune/tuner/known_machine.hpp"
#include "cli/build_info.hpp"
#include "cli/provenance.hpp"
#include "collectives/world/host_processes.hpp"

namespace tutti {
namespace {

// Derives the tuning from the caches and the measured limits; the same on all ranks. Collective.
HostTuning tuning_of_hosts(World& world, const std::optional<Limits>& limits,
                           std::optional<Bytes> stream_from) {
    HostTuning tuning;
    if (world.is_first()) tuning = tuning_from(cores_of_this_host());
    if (limits) tuning.stream_from = limits->stream_from;
    if (stream_from) {
        tuning.stream_from = *stream_from;
        tuning.adapts_stores = false;
    }
    return from_rank0(world, tuning);
}

bool is_in(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

// Returns why the candidate's transport or library cannot run here.
std::optional<std::string> missing_for(Planner& planner, const Candidate& candidate) {
    if (candidate.is_ours())
        return planner.refuses(candidate.configuration.transport, std::nullopt);
    return refusal(planner.world(), *candidate.baseline,
                   {.call = {.count = 1}, .buffers = std::nullopt});
}

std::string describe_order(const Order& order) {
    std::string text;
    for (const auto& channel : order.channels) {
        text += text.empty() ? "" : " |";
        for (const Rank rank : channel) text += fmt::format(" {}", rank.index);
    }
    return text;
}

}  // namespace

RunContext::RunContext(World& ranks, Reporter& voice, const RunOptions& options,
                       const PlannerSetup& setup)
    : world(ranks),
      reporter(voice),
      limits(choose_limits(world, options.limits, limits_notes,
                           [&](const std::string& line) { reporter.warn(line); })),
      ranks_on_core(options.pin ? pin_ranks(world) : 0),
      tuning(tuning_of_hosts(world, limits, setup.stream_from)),
      planner(world, setup.fault),
      launch(describe_launch(world, reporter.session().id)),
      clock(world) {
    planner.tune(tuning);
    planner.repeat_on_devices(setup.runs_on_devices);
    if (!world.one_host()) launch.clock = clock.record();
    launch.health = reporter.health_at_begin();
    notes = head_notes(this_tool(), launch);
    if (ranks_on_core > 0) notes.push_back(describe_pinning(ranks_on_core));
}

std::vector<std::string> RunContext::notes_with_command() const {
    std::vector<std::string> all = notes;
    all.insert(all.begin() + 1, fmt::format("{}", fmt::join(reporter.session().argv, " ")));
    return all;
}

Exit in_context(World& world, const RunOptions& run, std::uint64_t seed, const PlannerSetup& setup,
                const std::function<Exit(RunContext&)>& work) {
    Reporter reporter(world, describe_session(world, run, seed), run.results_file());
    return reporter.recording_failures([&] {
        RunContext context(world, reporter, run, setup);
        return work(context);
    });
}

void expect_runner(const SearchSpace& search_space, Collective collective, Planner& planner) {
    std::string reasons;
    std::set<std::string> asked;
    for (const Candidate& candidate : candidates(collective, search_space)) {
        const std::string& name =
            candidate.is_ours() ? candidate.configuration.transport : candidate.configuration.impl;
        if (!asked.insert(name).second) continue;
        const auto missing = missing_for(planner, candidate);
        if (!missing) return;
        reasons += fmt::format("{}: {}; ", name, *missing);
    }
    throw Error(fmt::format(
        "no transport or library works here: {}use --transport all or --baseline mpi", reasons));
}

void expect_named_library(const SearchSpace& search_space, World& world) {
    std::string reasons;
    for (const auto& typed : search_space.baselines) {
        const std::string name =
            typed.substr(0, typed.find('/'));  // may name an algorithm of the library
        if (name == "none" || name == "all") return;
        const auto missing = missing_on_any(world, find_baseline(name).missing());
        if (!missing) return;
        if (reasons.find(name + ": ") == reasons.npos)
            reasons += fmt::format("{}: {}; ", name, *missing);
    }
    if (!reasons.empty())
        throw Error(fmt::format(
            "--baseline names only missing libraries: {}use --baseline none or all", reasons));
}

void note_refusals(const SearchSpace& search_space, Collective collective, Planner& planner,
                   const Environment& environment, NamedWords& named) {
    const int ranks = planner.world().size();
    const Call call{.collective = collective, .count = ranks};
    for (const Candidate& candidate : candidates(collective, search_space)) {
        auto reason = missing_for(planner, candidate);
        if (!reason && candidate.is_ours())
            reason =
                candidate.row->refuses(job_of({candidate.row, candidate.configuration, environment},
                                              call, ranks, environment.hosts));
        if (reason)
            named.skipped(candidate.configuration, candidate.name() + ": " + *reason);
        else
            named.measured(candidate.configuration);
    }
}

void leave_out_unusable(SearchSpace& search_space, Planner& planner,
                        std::vector<std::string>& notes) {
    std::erase(search_space.transports, "none");
    if (std::erase(search_space.transports, "all") > 0)
        for (const TransportRow& row : transports()) {
            if (row.is_part || is_in(search_space.transports, row.name)) continue;
            const auto refusal = planner.refuses(row.name, std::nullopt);
            if (!refusal)
                search_space.transports.emplace_back(row.name);
            else
                notes.push_back(fmt::format("transport {} left out: {}", row.name, *refusal));
        }
    if (search_space.baselines == std::vector<std::string>{"all"}) {
        search_space.baselines = {"none"};
        for (const Baseline& row : baselines()) {
            if (!row.is_default) continue;
            const auto reason =
                refusal(planner.world(), row, {.call = {.count = 1}, .buffers = std::nullopt});
            if (!reason)
                search_space.baselines.emplace_back(row.name);
            else
                notes.push_back(fmt::format("baseline {} left out: {}", row.name, *reason));
        }
    }
}

Environment environment_of(World& world, const std::vector<std::string>& orders, int ranks_per_node,
                           int ranks_per_island, std::vector<std::string>& notes) {
    const auto sites = sites_of_ranks(world);
    Environment environment = environment_of(world);
    environment.hosts = placement_of(sites);
    if (ranks_per_node > 0)
        environment.hosts = Placement::in_nodes_of(world.size(), ranks_per_node);
    if (ranks_per_island > 0)
        environment.hosts = environment.hosts.with_islands_of(ranks_per_island);
    for (const auto& name : orders) {
        const Order& order = environment.orders[name] = order_called(name, world, sites);
        if (!order.channels.empty() && world.size() <= 64)
            notes.push_back(fmt::format("order {}:{}", name, describe_order(order)));
    }
    return environment;
}

}  // namespace tutti
