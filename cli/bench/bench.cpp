// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "autotune/table/table_for_ranks.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "autotune/tuner/calibration.hpp"
#include "autotune/tuner/known_machine.hpp"
#include "base/clock.hpp"
#include "cli/auto/chooser.hpp"
#include "cli/bench/aggressors.hpp"
#include "cli/bench/job_turns.hpp"
#include "cli/build_info.hpp"
#include "cli/forms/bench_output.hpp"
#include "cli/launches.hpp"
#include "cli/options/bench_options.hpp"
#include "cli/progress/sweep_pace.hpp"
#include "cli/reporter.hpp"
#include "cli/run_context.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/world.hpp"
#include "results/records/share_of_limit.hpp"
#include "results/tables/csv.hpp"
#include "results/tables/over_launches.hpp"
#include "topology/placement/placement.hpp"
#include "workloads/bench/sweep.hpp"
#include "workloads/limits/least_time.hpp"
#include "workloads/numerics/sum_examiner.hpp"
#include "workloads/timing/timeline.hpp"

namespace tutti {
namespace {

bool is_skipped(const Point& point) { return point.skipped.has_value(); }

// Reports the points of a sweep: on stdout, as records and for --csv.
class PointReport {
public:
    PointReport(const BenchOptions& options, Reporter& reporter, const Launch& launch,
                BenchOutput& output)
        : options_(options), reporter_(reporter), launch_(launch), output_(output) {}

    void add(std::vector<Point> points);

    // Shows points that are already in the file; none on ranks that do not print.
    void show(const std::vector<Point>& points);

    // Tells how many points beat their limits, see limit_line.
    std::string limit_line() const { return tutti::limit_line(all_); }

    // Lowers the limits of the points measured now to these limits, if lower, and adds a record
    // about it.
    void lower_limits(const Limits& limits, const Placement& hosts);

    // Ends the table and the records; `csv` may be closed. Returns the exit code. Collective.
    Exit end(std::ofstream csv);

private:
    std::string rows_of(const std::vector<Point>& points);
    void print(const std::string& rows, const std::vector<Point>& points);
    std::optional<std::string> complaint() const;
    Results this_launch(const End& end) const;

    const BenchOptions& options_;
    Reporter& reporter_;
    const Launch& launch_;
    BenchOutput& output_;
    std::vector<Point> all_;
};

void PointReport::add(std::vector<Point> points) {
    const std::string rows = rows_of(points);
    for (Point& point : points) {
        if (!options_.keep_samples) point.measured.samples.clear();
        reporter_.keep(point);
        point.measured.samples.clear();  // no longer needed
    }
    print(rows, points);
}

void PointReport::show(const std::vector<Point>& points) { print(rows_of(points), points); }

std::string PointReport::rows_of(const std::vector<Point>& points) {
    return reporter_.is_active() && !points.empty() ? output_.rows(points, fastest_of(points)) : "";
}

void PointReport::print(const std::string& rows, const std::vector<Point>& points) {
    reporter_.print(rows);
    reporter_.step();
    all_.insert(all_.end(), points.begin(), points.end());
}

void PointReport::lower_limits(const Limits& limits, const Placement& hosts) {
    LowerLimits lower;
    for (Point& point : all_) {
        if (point.skipped || !point.limit_ns || point.session != reporter_.session().id) continue;
        const double before = *point.limit_ns;
        set_limit(point, std::min(before, least_time(limits, point.key, hosts)));
        if (*point.limit_ns < before) lower.limit_ns[point_id(point.key)] = *point.limit_ns;
    }
    if (!lower.limit_ns.empty()) reporter_.keep(lower);
}

// Points of a part of the run before it was resumed are of the same launch.
Results PointReport::this_launch(const End& end) const {
    Results launch{.launches = {launch_}, .points = all_, .ends = {end}};
    for (Point& point : launch.points) {
        point.session = launch_.session;
        point.launch = launch_.launch;
    }
    return launch;
}

Exit PointReport::end(std::ofstream csv) {
    using Outcome = Reporter::Outcome;
    const End& end = reporter_.summary();
    if (reporter_.is_active()) reporter_.print(output_.end(all_, this_launch(end)));
    Exit code = reporter_.end(std::ranges::any_of(all_, is_wrong) ? Outcome::wrong_result
                              : reporter_.is_active() && std::ranges::all_of(all_, is_skipped)
                                  ? Outcome::nothing_measured
                                  : Outcome::measured,
                              complaint());
    if (code == Exit::ok && reporter_.is_active()) code = output_.code();
    if (!csv.is_open()) return code;
    write_csv(csv, {.sessions = {reporter_.session()}, .launches = {launch_}, .points = all_});
    csv.close();
    if (!csv)
        throw Error("'" + options_.csv_file +
                    "' could not be written completely: is the disk full?");
    return code;
}

// Returns the message about named candidates that were never measured.
std::optional<std::string> PointReport::complaint() const {
    NamedWords named = options_.named;
    for (const Point& point : all_) {
        const Key& key = point.key;
        if (!point.skipped)
            named.measured(key.configuration);
        else
            named.skipped(key.configuration, fmt::format("{} at {}: {}", candidate_in_words(key),
                                                         to_string(key.bytes), *point.skipped));
    }
    return named.complaint();
}

// Explains the table.
std::vector<std::string> reading_notes(const BenchOptions& options, const World& world) {
    std::vector<std::string> notes;
    notes.push_back(std::string("time: median over calls of the slowest rank; ") +
                    (options.sweep.input == InputState::rewritten
                         ? "each rank refills its input before every call (not timed)"
                         : "input is not rewritten between calls, so small inputs are read from "
                           "the caches (as in OSU and nccl-tests)"));
    if (options.sweep.protocol.sync == Protocol::Sync::automatic)
        notes.push_back(
            !world.oversubscribed
                ? "calls start at a common time; rows with too many late calls start at a barrier"
            : world.one_host() && options.sweep.input == InputState::untouched
                ? "more ranks than cores: each sample is the mean of several calls in a row"
                : "calls start at a barrier");
    if (!world.one_host())
        notes.push_back(
            "wire: bytes per call that the busiest host sent or received (the larger of both), "
            "including headers");
    if (world.kind() == "threads" && !options.run.ranks.threads)
        notes.push_back("one rank: use mpirun -np N, or --ranks N for N threads");
    if (!options.aggressors.empty())
        notes.push_back(fmt::format("each candidate is measured alone and next to '{}', in turn",
                                    fmt::join(options.aggressors, "' and '")));
    if (options.fault) notes.push_back("injected fault: " + to_string(*options.fault));
    return notes;
}

// The candidates auto and learn, and the table that learn writes at the end.
class ChoosingCandidates {
public:
    // Adds notes about the tables that they use. Throws Error for an unusable table. Collective.
    ChoosingCandidates(World& world, const BenchOptions& options, std::vector<std::string>& notes)
        : world_(world), file_(options.table_file) {
        if (options.choosing.empty()) return;
        // 'learn' can start without a table; it writes one at the end.
        const bool needs_table =
            options.table_is_named &&
            std::ranges::find(options.choosing, "auto") != options.choosing.end();
        const bool is_there = has_table(world, file_, needs_table);
        for (const std::string& name : options.choosing) {
            const bool learns = name == "learn";
            std::optional<Table> table;
            if (is_there || (options.table_is_named && !learns)) {
                table = table_for_ranks(world, file_, {.anyway = options.table_anyway});
                notes.push_back(fmt::format("{}: {}", name,
                                            describe_source(*table, file_, options.sweep.buffers)));
            } else if (!learns) {
                notes.push_back(fmt::format(
                    "{}: built-in rules; for a better choice write a table with 'tutti tune'",
                    name));
            }
            all_.push_back(learns ? candidate_that_learns(world, table, options.learning_bound)
                                  : candidate_by_table(world, table));
            learns_ = learns_ || learns;
        }
    }

    void add_to(std::vector<Candidate>& candidates) const {
        for (const CommunicatorCandidate& one : all_) candidates.push_back(one.candidate);
    }

    // Writes the learnt choices to the table file. Throws Error if that fails. Collective.
    void end(Reporter& reporter) const {
        if (!learns_) return;
        Table table;
        if (world_.is_first() && std::filesystem::exists(file_)) table = read_table(file_);
        for (const CommunicatorCandidate& one : all_) overlay(table, one.learnt());
        if (!world_.is_first()) return;
        if (table.sections.empty())
            return reporter.print("# learn: no measurements; no table was written\n");
        table.tool = version();
        keep_table(table, file_);
        reporter.print(fmt::format("# learn: choices written to {}\n", file_));
    }

private:
    World& world_;
    std::string file_;
    std::vector<CommunicatorCandidate> all_;
    bool learns_ = false;
};

// Runs several launches (--launches N) one after the other, and prints one table. Throws Error if a
// launch fails or a file cannot be written.
Exit bench_launches(const BenchOptions& options) {
    std::ofstream csv;
    const auto expect_csv = [&](bool is_good) {
        if (!is_good)
            throw Error(fmt::format("cannot write '{}': {}; use another file for --csv",
                                    options.csv_file, std::strerror(errno)));
    };
    if (!options.csv_file.empty()) {  // now, before the time for the launches is spent
        expect_launches(options.run);
        csv.open(options.csv_file, std::ios::trunc);
        expect_csv(csv.good());
    }
    const std::uint64_t seed = options.sweep.protocol.seed;
    const Results launches = run_launches(options.run, seed);
    const auto records = over_launches(launches.points);
    std::vector<Point> all;
    for (const PointOverLaunches& one : records) all.push_back(one.point);
    const auto output = make_output(options, columns_of(all));
    const Launch launch = launches.launches.empty() ? Launch{} : launches.launches.front();
    const auto notes = notes_of_launches(this_tool(), launches.launches);
    fmt::print("{}", output->begin(launch, notes, candidates_of(all)));
    fmt::print("{}", rows_of_records(*output, all, launches.points));
    fmt::print("{}", output->end(all, launches));
    const bool any_wrong = std::ranges::any_of(all, is_wrong);
    keep_over_launches(options.run, seed, records, any_wrong);
    if (csv.is_open()) {
        write_csv(csv,
                  {.sessions = launches.sessions, .launches = launches.launches, .points = all});
        expect_csv(csv.flush().good());
    }
    return any_wrong ? Exit::wrong_result : output->code();
}

// Opens the file of an option on rank 0, before anything is timed.
std::ofstream open_file(const std::string& file, const char* option, const World& world) {
    std::ofstream stream;
    if (!world.is_first() || file.empty()) return stream;
    stream.open(file, std::ios::trunc);
    if (!stream)
        throw Error(fmt::format("cannot write '{}': {}; use another file for {}", file,
                                std::strerror(errno), option));
    return stream;
}

// The files of --csv and --timeline; not open if not requested.
struct OtherFiles {
    std::ofstream csv, timeline;
};

// Adds notes about transports, as found by rank 0. Collective, as transports are opened.
void describe_transports(const SearchSpace& search_space, Planner& planner, Launch& launch,
                         std::vector<std::string>& notes) {
    for (const std::string& name : search_space.transports) {
        const std::string details = planner.details(name);
        if (details.empty()) continue;
        notes.push_back(fmt::format("transport {}: {}", name, details));
        const bool uses_ucx = name == "ucx" || name == "hybrid";
        if (uses_ucx && !launch.ucx && details.find("UCX") != details.npos)
            launch.ucx = Library{
                .vendor = "UCX", .version = ucx_version(), .settings = {{"found", details}}};
    }
}

// Estimates the pace on rank 0, which reports it.
SweepPace pace_of(const Sweep& sweep, const World& world) {
    if (!world.is_first()) return {{}, 0, 0};
    const bool is_fixed = sweep.protocol.fixed_samples > 0;
    return {planned_calls(sweep, world.size()), is_fixed ? 0 : sweep.budget_seconds, now_ns()};
}

// Adds a note if the sweep takes long.
void note_length(const SweepPace& pace, const Sweep& sweep, std::vector<std::string>& notes) {
    constexpr double long_seconds = 10;
    const double most = pace.most_seconds();
    if (most < long_seconds || !std::isfinite(most)) return;
    notes.push_back(fmt::format("maximum duration about {}; {} shortens it", in_minutes(most),
                                sweep.protocol.fixed_samples > 0 ? "a smaller -n"
                                : sweep.budget_seconds > 0       ? "a smaller --budget"
                                : most > 30                      ? "--budget 30s"
                                                                 : "--budget 5s"));
}

// Tells once, as soon as it is known, that the budget will be exceeded.
void warn_of_budget(SweepPace& pace, const Sweep& sweep, Reporter& reporter) {
    const auto least = pace.seconds_beyond_budget(now_ns());
    if (!least) return;
    reporter.warn(fmt::format(
        "--budget {:g}s cannot be kept: {} sizes with {} candidates each need at least {}; use "
        "fewer candidates (--algo, --transport) or sizes (-e, -f)",
        sweep.budget_seconds, pace.calls(), sweep.candidates.size(), in_minutes(*least)));
    pace.drop_budget();
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
            throw Error(fmt::format("-r {} is not below {} ranks; use -r 0 to {}", root.index,
                                    ranks, ranks - 1));
    for (const auto& end : {options.fault ? options.fault->from : std::nullopt,
                            options.fault ? options.fault->to : std::nullopt})
        if (end && end->index >= ranks)
            throw Error(fmt::format("--fault names rank {}, but there are only {} ranks",
                                    end->index, ranks));
}

void write_timeline(const Timeline& timeline, std::ofstream file, const std::string& name) {
    if (!file.is_open()) return;
    file << timeline.text();
    file.close();
    if (!file) throw Error("'" + name + "' could not be written completely: is the disk full?");
}

// Measures the limits again if points were faster: the machine was in a worse state then.
void improve_limits(RunContext& context, const std::string& choice, PointReport& report) {
    World& world = context.world;
    const std::string line = report.limit_line();
    if (!context.limits || !from_rank0(world, !line.empty())) return;
    set_activity("limits");
    context.unpinned.restore();  // the same state as at the start
    std::vector<std::string> notes;
    const auto limits = limits_again(world, choice, *context.limits, notes,
                                     [&](const std::string& text) { context.reporter.warn(text); });
    if (limits) {
        context.limits = limits;
        report.lower_limits(*limits, world.hosts());
        context.reporter.keep(*context.limits);
        notes.emplace_back(
            "the table below and the records use the better of the old and the new limits");
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

    if (!options.turns.empty()) {  // a job of 'tutti compare', which reports the results
        const bool may_use_barriers = options.sweep.protocol.sync == Protocol::Sync::automatic;
        JobTurns turns(world, options.turns, options.named, may_use_barriers);
        run_sweep_by_turns(planner, sweep, turns);
        turns.expect_named();
        return Exit::ok;
    }
    Aggressors aggressors(world, options.aggressors);
    sweep.disturbances = aggressors.disturbances();
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
    // Output in the format of another suite may share a file with stderr.
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
        if (!world.is_first()) return;
        pace.measured(now_ns());
        warn_of_budget(pace, sweep, reporter);
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
    make_output(*options);  // throws for an invalid format, before any rank starts
    if (options->run.starts_launches()) return bench_launches(*options);
    if (!options->other_nccl.empty()) load_other_nccl(options->other_nccl);
    before_start(options->search_space);
    let_nccl_tell_choices();
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
