// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autotune/table/table_for_ranks.hpp"
#include "base/units.hpp"
#include "cli/auto/chooser.hpp"
#include "cli/build_info.hpp"
#include "cli/launches.hpp"
#include "cli/options/workload_options.hpp"
#include "cli/run_context.hpp"
#include "collectives/world/world.hpp"
#include "results/tables/cautions.hpp"
#include "results/tables/over_launches.hpp"
#include "results/tables/step_table.hpp"

namespace tutti {
namespace {

// Parses "ring[x2]/shm+int8", "mpi/ring" or "auto", as far as options name them.
Configuration configuration_of(const Method& method) {
    const std::string name = method.name.substr(0, method.name.find('+'));
    if (!method.transport.empty())
        return {.algorithm = name.substr(0, name.find_first_of("[@/")),
                .transport = method.transport};
    if (name == "auto") return {.algorithm = name};
    const std::size_t slash = std::min(name.find('/'), name.size());
    return {.impl = name.substr(0, slash),
            .algorithm = name.substr(std::min(slash + 1, name.size()))};
}

// Reports the steps of a workload as a table and as records.
class StepReport {
public:
    StepReport(const WorkloadOptions& options, Reporter& reporter)
        : options_(options), reporter_(reporter) {}

    void begin(const Launch& launch, const std::vector<std::string>& notes) {
        reporter_.begin(launch, 100);
        reporter_.print(step_table_header(notes));
    }

    // Shows progress towards the earlier end: the maximum steps, or the maximum time once the
    // minimum steps are done.
    void after_round(std::int64_t rounds, double seconds) {
        const StepProtocol& until = options_.protocol;
        if (rounds < until.min_rounds && seconds > until.max_seconds) is_longer_ = true;
        seconds_ = seconds;
        rounds_ = rounds;
        const auto done = static_cast<double>(rounds);
        const double by_time = std::min(seconds / std::max(until.max_seconds, 1e-9),
                                        done / static_cast<double>(until.min_rounds));
        const double share = std::max(by_time, done / static_cast<double>(until.max_rounds));
        reporter_.reach(static_cast<std::size_t>(100 * std::min(share, 1.0)));
        reporter_.show(rounds == 0 ? "warming up" : counted(rounds, "step") + " of each method");
    }

    // Stores steps, so that an interrupted run keeps them.
    void keep(std::vector<TrainingStep>& steps) {
        for (TrainingStep& step : steps) {
            step.key.workload = options_.workload->name;
            step.key.buffers = options_.buffers ? name_of(*options_.buffers) : "";
            step.key.settings = settings_text();
            reporter_.keep(step);
        }
    }

    // Ends the report with one step per method.
    Exit end(std::vector<TrainingStep> steps, const std::vector<Method>& methods) {
        bool any_wrong = false, any_done = false;
        keep(steps);
        NamedWords named = options_.named;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const TrainingStep& step = steps[i];
            any_wrong = any_wrong || step.check.state == CheckState::fail;
            any_done = any_done || !step.skipped;
            if (!step.skipped)
                named.measured(configuration_of(methods[i]));
            else
                named.skipped(configuration_of(methods[i]), step.key.method + ": " + *step.skipped);
        }
        const End& end = reporter_.summary();
        reporter_.print(step_table_rows(steps) + note_of_length() +
                        cautions_below({}, std::span(&end, 1)) + step_table_footer(steps));
        using Outcome = Reporter::Outcome;
        return reporter_.end(any_wrong  ? Outcome::wrong_result
                             : any_done ? Outcome::measured
                                        : Outcome::nothing_measured,
                             named.complaint());
    }

private:
    // Describes the settings that comparable steps have in common.
    std::string settings_text() const {
        const std::string own = options_.settings.to_string(), skew = options_.skew.to_string();
        return fmt::format("{}{}{}", own, own.empty() || skew.empty() ? "" : " ", skew);
    }

    std::string note_of_length() const {
        if (!is_longer_) return {};
        return fmt::format(
            "# {:.1f} s, longer than --max-time: --min-steps requires {} of each method\n",
            seconds_, counted(rounds_, "step"));
    }

    const WorkloadOptions& options_;
    Reporter& reporter_;
    bool is_longer_ = false;
    double seconds_ = 0;
    std::int64_t rounds_ = 0;
};

std::string source_of_auto(World& world, const WorkloadOptions& options, bool is_there) {
    if (!is_there) return "by built-in rules";
    const auto table = table_for_ranks(world, options.table_file, {.anyway = options.table_anyway});
    std::vector<BufferKind> kinds;
    if (options.buffers) kinds.push_back(*options.buffers);
    return describe_source(table, options.table_file, kinds);
}

// Returns the methods selected by the user, libraries last.
std::vector<Method> methods_of(Planner& planner, const WorkloadOptions& options,
                               const SearchSpace& search_space, std::vector<std::string>& notes) {
    std::vector<Method> methods = methods_named(search_space);
    if (options.chooses) {
        const bool is_there = has_table(planner.world(), options.table_file, options.table_must_be);
        if (!is_there && options.table_must_be)
            throw Error(
                fmt::format("the table '{}' does not exist; use --table FILE of 'tutti tune', or "
                            "omit it for built-in rules",
                            options.table_file));
        notes.push_back("auto: " + source_of_auto(planner.world(), options, is_there));
        methods.insert(methods.begin(),
                       method_by_table(is_there ? options.table_file : "", options.table_anyway));
    }
    return with_compressed(std::move(methods), options.compressions);
}

// Returns the samples of the interrupted run for each method.
std::vector<StepSamples> samples_of(const InterruptedRun& run, const std::vector<Method>& methods) {
    std::vector<StepSamples> samples(methods.size());
    for (const TrainingStep& step : run.steps)
        for (std::size_t i = 0; i < methods.size(); ++i)
            if (step.key.method == methods[i].name && step.samples) samples[i] = *step.samples;
    return samples;
}

Exit workload_on_rank(RunContext& context, const WorkloadOptions& options) {
    World& world = context.world;
    Planner& planner = context.planner;
    StepReport report(options, context.reporter);
    std::vector<std::string> notes = context.notes_with_command();
    SearchSpace search_space = options.search_space;
    leave_out_unusable(search_space, planner, notes);
    const auto named = methods_of(planner, options, search_space, notes);
    StepProtocol protocol = options.protocol;
    protocol.clock = &context.clock;
    protocol.after_round = [&](std::int64_t rounds, double seconds) {
        report.after_round(rounds, seconds);
    };
    set_activity(fmt::format("setting up {}", options.workload->name));
    const auto scenario =
        options.workload->make(options.settings, {.planner = planner,
                                                  .compute = options.compute,
                                                  .buffers = options.buffers,
                                                  .transports = search_space.transports,
                                                  .clock = &context.clock,
                                                  .seed = options.protocol.seed,
                                                  .named = named,
                                                  .skew = options.skew});
    if (!options.skew.is_none() && !scenario->has_compute_mode())
        throw Error(fmt::format(
            "--skew and --slow-rank cannot be used with {}, which trains a real network",
            options.workload->name));
    for (const std::string& note : scenario->notes()) notes.push_back(note);
    notes.push_back(fmt::format(
        "{} of {}: per step and rank {} with {} bytes in total{}", options.workload->name,
        scenario->model(), counted(scenario->calls_of_step(), "call"), scenario->bytes_of_step(),
        scenario->has_compute_mode() ? fmt::format("; compute: {}", name_of(options.compute))
                                     : ""));
    report.begin(context.launch, notes);
    set_activity(std::string(options.workload->name));
    const auto methods = scenario->methods(named);
    const auto complete_keys = [&](std::vector<TrainingStep>& steps) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            StepKey& key = steps[i].key;
            if (scenario->has_compute_mode()) key.compute = name_of(options.compute);
            const std::string& over = methods[i].transport;
            if (!over.empty() && planner.is_virtual(over)) key.placement = virtual_ranks;
        }
    };
    protocol.so_far = [&](std::vector<TrainingStep> steps) {
        complete_keys(steps);
        std::erase_if(steps, [](const TrainingStep& step) { return !step.is_partial; });
        report.keep(steps);
    };
    if (options.run.resumed) protocol.earlier = samples_of(*options.run.resumed, methods);
    auto steps = run_scenario(world, *scenario, methods, protocol);
    complete_keys(steps);
    return report.end(std::move(steps), methods);
}

// Reports several launches in one table.
Exit workload_launches(const WorkloadOptions& options) {
    const std::uint64_t seed = options.protocol.seed;
    const Results launches = run_launches(options.run, seed);
    const auto records = over_launches(launches.steps);
    std::vector<TrainingStep> all;
    bool any_wrong = false;
    for (const StepOverLaunches& one : records) {
        all.push_back(one.step);
        any_wrong = any_wrong || one.step.check.state == CheckState::fail;
    }
    fmt::print("{}{}{}{}", step_table_header(notes_of_launches(this_tool(), launches.launches)),
               step_table_rows(all), cautions_below(launches.launches, launches.ends),
               step_table_footer(all));
    keep_over_launches(options.run, seed, records, any_wrong);
    return any_wrong ? Exit::wrong_result : Exit::ok;
}

}  // namespace

Exit run_workload(const Arguments& arguments) {
    const auto options = parse_workload(arguments);
    if (!options) return Exit::ok;
    if (options->run.starts_launches()) return workload_launches(*options);
    before_start(options->search_space);
    return run_ranks(options->run.ranks, [&](World& world) {
        return in_context(world, options->run, options->protocol.seed, {},
                          [&](RunContext& context) { return workload_on_rank(context, *options); });
    });
}

}  // namespace tutti
