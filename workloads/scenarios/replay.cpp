// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "workloads/program/changed_program.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {
namespace {

constexpr SettingRow setting_rows[] = {
    {"file",
     "Trace: JSON Lines of scripts/record_ddp, gradtrace/1 as JSON, or a folder of traces "
     "of PARAM, PyTorch, Chakra or NCCL, a file for each rank",
     ""},
    {"bucket-cap", "Bytes after which a bucket is closed; recorded: the trace's buckets",
     "recorded"},
    {"first-bucket",
     "Bytes after which the first bucket is closed, unless --bucket-cap is recorded", "1M"},
    {"time-scale", "Factor for recorded computing times", "1"},
    {"repeat", "Number of recorded steps that form one step", "1"},
    {"padding",
     "Padding of calls whose blocks differ in length: no (blocks as recorded), yes (equal ones) or "
     "both, as two variants of each method",
     "no"},
    {"gradients", "Send the recorded gradients if their files are next to the trace: yes or no",
     "yes"},
};

struct Replay {
    Trace trace;
    std::vector<Bucket> buckets;  // for traces of gradients
    double time_scale = 1;
    int repeat = 1;
};

// Returns the recorded buckets; PyTorch's rule makes them if nothing was sent.
std::vector<Bucket> buckets_of(const GradientTrace& trace, const Settings& settings) {
    const bool as_recorded = settings.text("bucket-cap") == "recorded";
    if (as_recorded && !trace.buckets.empty()) return trace.buckets;
    std::vector<std::int64_t> counts;
    for (const Parameter& one : trace.parameters) counts.push_back(one.count());
    BucketCaps caps;
    caps.first = settings.bytes("first-bucket");
    if (!as_recorded) caps.others = settings.bytes("bucket-cap");
    return tutti::buckets_of(counts, trace.ready_order,
                             Bytes{static_cast<std::int64_t>(size_of(trace.type))}, caps);
}

Replay read(const Settings& settings) {
    Replay replay;
    replay.time_scale = settings.real("time-scale", 0, 1e6);
    replay.repeat = static_cast<int>(settings.number("repeat", 1, 1000));
    settings.yes("gradients");
    padding_of(settings, "no");
    replay.trace = read_trace(settings.text("file"));
    if (const auto* gradients = std::get_if<GradientTrace>(&replay.trace.what))
        replay.buckets = buckets_of(*gradients, settings);
    else if (settings.text("bucket-cap") != "recorded")
        throw Error("--bucket-cap applies to traces of gradients only; this trace has calls");
    return replay;
}

void check_settings(const Settings& settings) {
    const Replay replay = read(settings);
    if (const auto* ops = std::get_if<OpsTrace>(&replay.trace.what))
        check(program_of(*ops, replay.trace.model).program);
}

std::vector<std::string> notes_of(const Trace& trace) {
    std::string origin = fmt::format("trace of {}", trace.model);
    for (const std::string* part : {&trace.device, &trace.source, &trace.licence})
        if (!part->empty()) origin += "; " + *part;
    std::vector<std::string> notes{origin};
    if (!trace.note.empty()) notes.push_back(trace.note);
    return notes;
}

// Notes times of the recorded system, which are not comparable with times of this one.
void note_recorded_calls(const GradientTrace& trace, std::vector<std::string>& notes) {
    std::vector<std::int64_t> lasted;
    for (const auto& one : trace.iterations) {
        if (one.all_reduces.empty()) continue;
        std::int64_t begin = one.all_reduces.front().start_ns, end = begin;
        for (const auto& call : one.all_reduces) {
            begin = std::min(begin, call.start_ns);
            end = std::max(end, call.start_ns + call.duration_ns);
        }
        lasted.push_back(end - begin);
    }
    if (lasted.empty()) return;
    std::ranges::sort(lasted);
    notes.push_back(
        fmt::format("recorded: {:.1f} us from the first all-reduce's start to the last one's end "
                    "(median of {})",
                    static_cast<double>(lasted[lasted.size() / 2]) / 1000, lasted.size()));
}

std::unique_ptr<Scenario> make_gradients(const Replay& replay, const Settings& settings,
                                         const WorkloadEnvironment& environment) {
    const auto& trace = std::get<GradientTrace>(replay.trace.what);
    World& world = environment.planner.world();
    Program program = program_of(trace, replay.trace.model, replay.buckets, world.size());
    stretch(program, replay.time_scale);
    auto notes = notes_of(replay.trace);
    std::int64_t count = 0;
    for (const Parameter& one : trace.parameters) count += one.count();
    notes.push_back(fmt::format(
        "{} parameters in {} buckets ({}); the steps repeat {} iterations of {} rank{}", count,
        replay.buckets.size(),
        settings.text("bucket-cap") == "recorded" && !trace.buckets.empty() ? "as recorded"
                                                                            : "derived",
        trace.iterations.size(), trace.recorded_ranks(), trace.recorded_ranks() > 1 ? "s" : ""));
    note_recorded_calls(trace, notes);
    BeforeStep before;
    if (settings.yes("gradients")) {
        auto gradients =
            std::make_shared<RecordedGradients>(settings.text("file"), trace, world.rank());
        if (gradients->steps() > 0) {
            notes.push_back(
                fmt::format("the recorded gradients of {} steps are sent", gradients->steps()));
            before = [gradients](const ProgramBuffers& buffers, std::int64_t number) {
                gradients->load(buffers, number);
            };
        }
    }
    return scenario_of(repeated(program, replay.repeat), std::move(notes), {}, environment,
                       std::move(before));
}

std::unique_ptr<Scenario> make_ops(const Replay& replay, const Settings& settings,
                                   const WorkloadEnvironment& environment) {
    const auto& trace = std::get<OpsTrace>(replay.trace.what);
    const auto ranks = static_cast<int>(trace.ranks.size());
    if (ranks != environment.planner.world().size())
        throw Error(
            fmt::format("the trace has {} ranks, but this job has {}; use mpirun -n {}, or "
                        "--ranks {} without mpirun",
                        ranks, environment.planner.world().size(), ranks, ranks));
    const auto scenario_with = [&](Blocks blocks) {
        OpsProgram made = program_of(trace, replay.trace.model, blocks);
        stretch(made.program, replay.time_scale);
        auto notes = notes_of(replay.trace);
        std::vector<Metric> metrics;
        if (made.padding_bytes > 0) {
            made.padding_bytes *= replay.repeat;
            notes.push_back(fmt::format(
                "calls whose blocks differ in length are replayed with blocks of the longest: {} "
                "additional bytes per step over all ranks",
                made.padding_bytes));
            metrics.push_back({"padding_bytes", static_cast<double>(made.padding_bytes)});
        }
        return scenario_of(repeated(made.program, replay.repeat), std::move(notes),
                           std::move(metrics), environment);
    };
    const bool is_even = program_of(trace, replay.trace.model, Blocks::padded).padding_bytes == 0;
    return with_padding(is_even ? Padding::no : padding_of(settings, "no"), scenario_with);
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Replay replay = read(settings);
    return std::holds_alternative<GradientTrace>(replay.trace.what)
               ? make_gradients(replay, settings, environment)
               : make_ops(replay, settings, environment);
}

}  // namespace

Workload replay_workload() {
    return {.name = "replay",
            .what = "replay of a recorded trace with its gaps and dependencies: gradients or calls",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
