// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "autotune/table/verdict.hpp"
#include "autotune/tuner/calibration.hpp"
#include "base/clock.hpp"
#include "cli/bench/bench_launches.hpp"
#include "cli/bench/bench_notes.hpp"
#include "cli/bench/choosing_candidates.hpp"
#include "cli/job_turns.hpp"
#include "cli/known/known_machine.hpp"
#include "cli/options/bench_options.hpp"
#include "cli/point_report.hpp"
#include "cli/progress/sweep_pace.hpp"
#include "cli/run_context.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/world.hpp"
#include "workloads/bench/sweep_by_turns.hpp"
#include "workloads/numerics/sum_examiner.hpp"
#include "workloads/timing/timeline.hpp"

namespace tutti {
namespace {

// Of an option that names one, on rank 0; before anything is timed.
std::ofstream open_file(const std::string& file, const char* option, const World& world) {
    std::ofstream stream;
    if (!world.is_first() || file.empty()) return stream;
    stream.open(file, std::ios::trunc);
    if (!stream)
        throw Error(fmt::format("cannot write '{}'; type another file behind {}", file, option));
    return stream;
}

// What --csv and --timeline name; not open where that is nothing.
struct OtherFiles {
    std::ofstream csv, timeline;
};

// Collective, as transports are opened. What rank 0 found stands for all.
void describe_transports(const SearchSpace& search_space, Planner& planner, Launch& launch,
                         std::vector<std::string>& notes) {
    for (const std::string& name : search_space.transports) {
        const std::string details = planner.details(name);
        if (details.empty()) continue;
        notes.push_back(fmt::format("transport {}: {}", name, details));
        if (name == "ucx")
            launch.ucx = Library{
                .vendor = "UCX", .version = ucx_version(), .settings = {{"found", details}}};
    }
}

// On rank 0, which tells of it.
SweepPace pace_of(const Sweep& sweep, const World& world) {
    if (!world.is_first()) return {{}, 0, 0};
    const bool is_fixed = sweep.protocol.fixed_samples > 0;
    return {planned_calls(sweep, world.size()), is_fixed ? 0 : sweep.budget_seconds, now_ns()};
}

// Says so where somebody may not want to wait for all of it.
void note_length(const SweepPace& pace, const Sweep& sweep, std::vector<std::string>& notes) {
    constexpr double long_seconds = 10;
    const double most = pace.most_seconds();
    if (most < long_seconds || !std::isfinite(most)) return;
    notes.push_back(fmt::format("all of it takes at most about {}; {} shortens it",
                                in_minutes(most),
                                sweep.protocol.fixed_samples > 0 ? "a smaller -n"
                                : sweep.budget_seconds > 0       ? "a smaller --budget"
                                : most > 30                      ? "--budget 30s"
                                                                 : "--budget 5s"));
}

void fit_to_ranks(Sweep& sweep, const BenchOptions& options, int ranks) {
    if (options.root) {
        sweep.roots = {*options.root};
    } else {
        sweep.roots.clear();
        for (int root = 0; root < ranks; ++root) sweep.roots.push_back(Rank{root});
    }
    for (const Rank root : sweep.roots)
        if (has_root(sweep.collective) && root.index >= ranks)
            throw Error(fmt::format("root {} is not among {} ranks; type -r 0 .. {}", root.index,
                                    ranks, ranks - 1));
    for (const auto& end : {options.fault ? options.fault->from : std::nullopt,
                            options.fault ? options.fault->to : std::nullopt})
        if (end && end->index >= ranks)
            throw Error(
                fmt::format("the fault's rank {} is not among {} ranks", end->index, ranks));
}

void write_timeline(const Timeline& timeline, std::ofstream file, const std::string& name) {
    if (!file.is_open()) return;
    file << timeline.text();
    file.close();
    if (!file) throw Error("'" + name + "' could not be written to its end: is the disk full?");
}

// Points that beat their limits show that these were measured in a worse state of the machine.
void improve_limits(RunContext& context, const std::string& choice, PointReport& report) {
    World& world = context.world;
    const std::string line = report.limit_line();
    if (!context.limits || !from_rank0(world, !line.empty())) return;
    set_activity("limits");
    context.unpinned.restore();  // as they are measured at the start
    std::vector<std::string> notes;
    const auto limits = limits_again(world, choice, *context.limits, notes);
    if (limits) {
        context.limits = limits;
        report.lower_limits(*limits, world.hosts());
        context.reporter.keep(*context.limits);
        notes.emplace_back(
            "what follows, and the records, have the better of these and the former");
    }
    if (!notes.empty())
        context.reporter.print(fmt::format("{}# {}\n", line, fmt::join(notes, "\n# ")));
}

Exit bench_on_rank(RunContext& context, const BenchOptions& options, OtherFiles files) {
    World& world = context.world;
    Reporter& reporter = context.reporter;
    Planner& planner = context.planner;
    std::vector<std::string> notes = context.notes_with_command();
    const auto add = [&notes](const std::vector<std::string>& more) {
        notes.insert(notes.end(), more.begin(), more.end());
    };
    add(reading_notes(options, world));
    add(context.limits_notes);
    Sweep sweep = options.sweep;
    sweep.limits = context.limits;
    SearchSpace search_space = options.search_space;
    expect_named_library(search_space, world);
    leave_out_unusable(search_space, planner, notes);
    describe_transports(search_space, planner, context.launch, notes);
    sweep.candidates = candidates(sweep.collective, search_space);
    const ChoosingCandidates choosing(world, options, notes);
    choosing.add_to(sweep.candidates);
    const auto model = choose_model(world, options.model, options.table_file, notes);
    const bool is_placed = sweep.ranks_per_node > 0 || sweep.ranks_per_island > 0;
    if (model && !is_placed) sweep.predict = predictor_of_candidates(*model, world.hosts());
    fit_to_ranks(sweep, options, world.size());
    sweep.environment = environment_of(world, search_space.orders, sweep.ranks_per_node,
                                       sweep.ranks_per_island, notes);
    sweep.protocol.clock = &context.clock;

    if (!options.turns.empty()) {  // of 'tutti compare', which reports
        JobTurns turns(world, options.turns, options.named);
        run_sweep_by_turns(planner, sweep, turns);
        turns.expect_named();
        return Exit::ok;
    }
    const HostMeters meters(world);
    if (meters.any()) sweep.protocol.meters = &meters;
    SweepPace pace = pace_of(sweep, world);
    if (!options.run.resumed) note_length(pace, sweep, notes);
    reporter.begin(context.launch, pace.calls());
    const TableColumns columns{
        .wire = !world.one_host(), .energy = meters.any(), .predicted = model.has_value()};
    const auto output = make_output(options, columns);
    if (world.is_first())
        reporter.print(output->begin(context.launch, notes, sweep.candidates.size()));
    if (auto limits = context.limits) reporter.keep(*limits);
    PointReport report(options, reporter, context.launch, *output);
    // Who reads what another suite would print may have put stderr into the same file.
    const bool shows_progress =
        world.is_first() && (options.like == "tutti" || isatty(STDERR_FILENO) == 1);
    SweepEvents events;
    events.before_point = [&](const std::string& what) {
        set_activity(what);
        if (shows_progress) reporter.show(what, pace.seconds_left(now_ns()));
    };
    Timeline timeline(world, context.clock);
    SumExaminer examiner(world, sweep.protocol.seed);
    std::vector<Numerics> numerics;
    std::size_t kept = 0;
    events.after_candidate = [&](const MeasuredCandidate& one) {
        if (!options.timeline_file.empty())
            timeline.add(one.operation,
                         call_in_words(one.key) + ", " + candidate_in_words(one.key));
        if (!options.numerics) return;
        numerics.push_back(examiner.examine(one.operation, one.call, one.buffers));
        numerics.back().key = one.key;
    };
    events.after_point = [&](const std::vector<Point>& points) {
        for (; kept < numerics.size(); ++kept) reporter.keep(numerics[kept]);
        report.add(points);
        if (world.is_first()) pace.measured(now_ns());
    };
    events.known_point = [&](const std::vector<Point>& points) {
        report.show(points);
        if (world.is_first()) pace.known(now_ns());
    };
    if (options.run.resumed) sweep.known = options.run.resumed->points;
    run_sweep(planner, sweep, events);
    choosing.end(reporter);
    reporter.print(numerics_table(numerics));
    if (output->shows_limits()) improve_limits(context, options.run.limits, report);
    const Exit code = report.end(std::move(files.csv));
    write_timeline(timeline, std::move(files.timeline), options.timeline_file);
    return code;
}

}  // namespace

Exit run_bench(const Arguments& arguments) {
    const auto options = parse_bench(arguments);
    if (!options) return Exit::ok;
    make_output(*options);  // throws, before any rank starts, for what it could not print
    if (options->run.starts_launches()) return bench_launches(*options);
    before_start(options->search_space);
    const PlannerSetup setup{.fault = options->fault,
                             .stream_from = options->stream_from,
                             .runs_on_devices = options->runs_on_devices};
    return run_ranks(options->run.ranks, [&](World& world) {
        OtherFiles files{.csv = open_file(options->csv_file, "--csv", world),
                         .timeline = open_file(options->timeline_file, "--timeline", world)};
        return in_context(world, options->run, options->sweep.protocol.seed, setup,
                          [&](RunContext& context) {
                              return bench_on_rank(context, *options, std::move(files));
                          });
    });
}

}  // namespace tutti
