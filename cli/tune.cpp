// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "autotune/choice/subject.hpp"
#include "autotune/model/model_json.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/tuner/calibration.hpp"
#include "autotune/tuner/known_machine.hpp"
#include "autotune/tuner/table_writer.hpp"
#include "autotune/tuner/tasks.hpp"
#include "base/clock.hpp"
#include "cli/options/tune_options.hpp"
#include "cli/run_context.hpp"
#include "cli/tune_tables.hpp"
#include "collectives/world/world.hpp"
#include "results/tables/cautions.hpp"
#include "topology/detect/host_facts.hpp"
#include "workloads/limits/rank_team.hpp"

namespace tutti {
namespace {

// Returns the options that samples depend on; not output files or time limits.
std::string plan_of(const TuneOptions& options) {
    TextByName asked = options.run.plan.values;
    for (const char* name : {"resume", "table", "budget", "timeout", "hold-out", "allow-skips",
                             "launches", "launcher", "keep-anyway"})
        asked.erase(name);
    std::string text;
    for (const auto& [name, value] : asked) text += fmt::format("{}={} ", name, value);
    return text;
}

// Reports the tuner's results as a table file and as text.
class TuneReport {
public:
    TuneReport(const TuneOptions& options, const JobShape& shape, Reporter& reporter,
               std::size_t subjects)
        : reporter_(reporter), table_file_(options.table_file), subjects_(subjects) {
        if (!reporter_.is_active()) return;
        writer_.emplace(options.table_file, reporter_.session());
        if (options.job == TuneOptions::Job::tune)
            writer_->open_log(shape, plan_of(options), options.resume);
    }

    void begin(const Launch& launch, const std::vector<std::string>& notes) {
        reporter_.begin(launch, progress_goal);
        std::string text;
        for (const std::string& note : notes) text += fmt::format("# {}\n", note);
        if (writer_ && !writer_->earlier().empty())
            text += fmt::format("# resumed: {} races read from {}.races\n",
                                writer_->earlier().size(), table_file_);
        reporter_.print(text);
    }

    // Return the data of rank 0 on all ranks. Collective.
    std::vector<RaceLog::Entry> earlier(World& world) const {
        return races_of_first(world, writer_ ? writer_->earlier() : std::vector<RaceLog::Entry>{});
    }
    Table table(World& world) const {
        const std::string text = writer_ ? to_json(writer_->table()) : "";
        return parse_table(gather_all_texts(world, text)[0], table_file_);
    }

    // Returns the table's model, on rank 0.
    std::optional<CostModel> model() const {
        if (!writer_ || writer_->table().model.empty()) return std::nullopt;
        return model_from_json(writer_->table().model, table_file_);
    }

    // Returns true if the search is complete, and validated if requested. On rank 0.
    bool is_done(const JobShape& shape, const Subject& subject, bool is_held_out) const {
        const Section* known = find_section(writer_->table(), shape, subject);
        if (known == nullptr || !known->is_complete) return false;
        const auto has_hold_out = [](const Range& range) {
            return std::ranges::any_of(range.evidence, [](const RangeEvidence& evidence) {
                return evidence.hold_out.has_value();
            });
        };
        return !is_held_out || std::ranges::any_of(known->ranges, has_hold_out);
    }

    TuneEvents events() {
        TuneEvents events;
        events.progress = [this](const Subject& subject, double done, const std::string& now) {
            set_activity(to_string(subject));
            show(subject, done, now);
        };
        events.raced = [this](const RaceLog::Entry& entry) {
            if (writer_) writer_->add(entry);
        };
        events.section = [this](const Section& section) {
            section_ = section;
            any_tuned_ = any_tuned_ || !section.ranges.empty();
            any_searched_ = true;
            if (writer_) writer_->put(section);
        };
        events.under_way = [this](const Section& section) {
            if (writer_) writer_->put_draft(section);
        };
        events.cost = [this](const Subject& subject, const TuneCost& cost) {
            ++subjects_done_;
            if (writer_) writer_->add(subject, cost);
            reporter_.print(lines_of(subject, cost));
        };
        events.wrong = [this](const Subject& subject, const Configuration& configuration) {
            any_wrong_ = true;
            if (writer_) writer_->add({.subject = subject, .configuration = configuration});
            reporter_.warn(fmt::format("{} gave a wrong result for {} and is excluded",
                                       to_string(configuration), to_string(subject)));
        };
        return events;
    }

    // Stores the better of the new and the known model in the table and for other commands.
    void calibrated(Calibration& calibration, const ModelledMachine& machine) {
        if (!writer_) return;
        const std::string done = keep_better_model(calibration, machine, model());
        writer_->put(calibration);
        reporter_.print(fmt::format("# cost model calibrated by {} samples in {:.1f} s\n{}",
                                    calibration.samples, calibration.seconds, done));
    }

    Exit end(const NamedWords& named) {
        std::optional<std::string> complaint = named.complaint();
        if (!complaint && any_searched_ && !any_tuned_)
            complaint = "time budget too small to tune anything; raise --budget";
        const End& end = reporter_.summary();
        std::string text;
        if (writer_ && !writer_->table().sections.empty())
            text = fmt::format("# table: {0} (tutti tune --explain {0})\n", table_file_);
        reporter_.print(text + cautions_below({}, std::span(&end, 1)));
        return reporter_.end(
            any_wrong_ ? Reporter::Outcome::wrong_result : Reporter::Outcome::measured, complaint);
    }

private:
    static constexpr std::size_t progress_goal = 1000;

    void show(const Subject& subject, double done, const std::string& now) {
        const double share = (static_cast<double>(subjects_done_) + done) /
                             static_cast<double>(std::max<std::size_t>(subjects_, 1));
        reporter_.reach(static_cast<std::size_t>(progress_goal * share));
        reporter_.show(now.empty() ? to_string(subject)
                                   : fmt::format("{}: {}", to_string(subject), now));
    }

    std::string lines_of(const Subject& subject, const TuneCost& cost) const {
        std::string text = fmt::format("{}: {}\n", to_string(subject), in_a_line(section_.ranges));
        std::vector<std::string> costs;
        if (cost.samples > 0)
            costs.push_back(fmt::format("{} samples in {:.1f} s", cost.samples, cost.seconds));
        if (cost.hold_out_samples > 0)
            costs.push_back(fmt::format("validation against the library: {} samples in {:.1f} s",
                                        cost.hold_out_samples, cost.hold_out_seconds));
        if (!section_.is_complete) costs.emplace_back("incomplete: not enough time");
        return costs.empty() ? text : text + fmt::format("    {}\n", fmt::join(costs, "; "));
    }

    Reporter& reporter_;
    std::string table_file_;
    std::size_t subjects_, subjects_done_ = 0;
    std::optional<TableWriter> writer_;  // only on rank 0
    Section section_;                    // the latest section
    bool any_wrong_ = false, any_searched_ = false, any_tuned_ = false;
};

// Returns the cores of the host: if the launcher bound each rank to its own core, those of all
// ranks. Collective.
int cores_of_host(World& world) {
    return std::max(from_rank0(world, usable_cores()), RankTeam::members_of(world));
}

// Returns the common fingerprint of several hosts; empty if they differ.
std::string host_of(const Launch& launch) {
    const std::string& first = launch.hosts.front().topo_sha256;
    const auto is_like_first = [&](const HostRecord& host) { return host.topo_sha256 == first; };
    return launch.hosts.size() > 1 && std::ranges::all_of(launch.hosts, is_like_first) ? first : "";
}

// Measures the model or reads that of an earlier run; the same on all ranks. Collective.
std::optional<CostModel> model_for(Planner& planner, const TuneRequest& request,
                                   const TuneOptions& options, const ModelledMachine& machine,
                                   TuneReport& report) {
    if (options.model == "none") return std::nullopt;
    World& world = planner.world();
    // A resumed search needs the same predictions.
    if (options.resume)
        if (auto model = model_of_first(world, report.model())) return model;
    if (options.model == "measure") {
        auto calibration = calibrate_here(planner, request, machine);
        if (!calibration) return std::nullopt;
        if (options.keeps_anyway) calibration->taken = 0;
        report.calibrated(*calibration, machine);
        return model_of_first(world, calibration->model);
    }
    if (!world.is_first()) return model_of_first(world, std::nullopt);
    return model_of_first(world, stored_model(machine.fingerprint));
}

Exit tune_on_rank(RunContext& context, const TuneOptions& options, int cores,
                  std::int64_t began_ns) {
    World& world = context.world;
    Planner& planner = context.planner;
    const JobShape shape = job_shape_of(world);
    const std::string& session = context.reporter.session().id;
    std::vector<std::string> notes = context.notes;
    TuneRequest request = options.request;
    request.protocol.clock = &context.clock;
    request.search_space.names_own_values = true;
    if (options.library)
        request.search_space.allows = [&format = format_of_library(*options.library), &options,
                                       ranks = world.size()](Collective collective,
                                                             const Configuration& choice) {
            return can_express(format, collective, choice, ranks, options.exported);
        };
    leave_out_unusable(request.search_space, planner, notes);
    expect_runner(request.search_space, request.collectives.front(), planner);
    request.environment = environment_of(world, {}, 0, 0, notes);
    request.environment.hosts = world.hosts();  // programs know the same
    NamedWords named = options.named;
    for (const Collective collective : request.collectives)
        note_refusals(request.search_space, collective, planner, request.environment, named);
    TuneReport report(options, shape, context.reporter,
                      subjects_of(request, kinds_for(request, world)).size());
    report.begin(context.launch, notes);
    const double spent = from_rank0(world, seconds_since(began_ns));
    request.budget_seconds = std::max(request.budget_seconds - spent, 1.0);
    if (options.job == TuneOptions::Job::hold_out) {
        const Table table = report.table(world);
        expect_sections(table, options.table_file);
        hold_out(planner, request, shape, session, table, report.events());
        return report.end(named);
    }
    const std::int64_t before_model_ns = now_ns();
    const ModelledMachine machine{shape.topology, cores, context.tuning, host_of(context.launch),
                                  world.links};
    const auto model = model_for(planner, request, options, machine, report);
    const CallPredictor predictor =
        model ? predictor_of_calls(*model, world.hosts()) : CallPredictor{};
    request.budget_seconds -= from_rank0(world, seconds_since(before_model_ns));
    if (request.budget_seconds <= 0)
        context.reporter.warn(
            fmt::format("--budget {:g}s was used up by the start and the cost model, so the search "
                        "exceeds it; use a larger --budget or --model stored",
                        options.request.budget_seconds));
    TuneEvents events = report.events();
    if (options.resume && world.is_first())
        events.is_done = [&](const Subject& subject) {
            return report.is_done(shape, subject, request.holds_out);
        };
    tune(planner, request, shape, session, predictor, report.earlier(world), events);
    return report.end(named);
}

}  // namespace

Exit run_tune(const Arguments& arguments) {
    const auto options = parse_tune(arguments);
    if (!options) return Exit::ok;
    const TuneOptions::Job job = options->job;
    if (!options->measures() && launcher().rank > 0) return Exit::ok;  // rank 0 does it
    if (job == TuneOptions::Job::explain) return explain_tables(*options);
    if (job == TuneOptions::Job::merge) return merge_tables(*options);
    if (job == TuneOptions::Job::model_only) return predict_table(*options);
    if (options->library && options->request.holds_out) return tune_library(*options);
    if (options->run.starts_launches()) return tune_launches(*options);
    before_start(options->request.search_space);
    return run_ranks(options->run.ranks, [&](World& world) {
        // A calibration with one rank would replace one with more ranks.
        if (world.size() == 1)
            throw Error(
                "one rank has nothing to tune; use for example: mpirun -np 2 tutti tune, or "
                "--ranks 2 for threads");
        const std::int64_t began_ns = now_ns();
        const int cores = cores_of_host(world);  // read before ranks are pinned
        return in_context(
            world, options->run, options->request.protocol.seed, {},
            [&](RunContext& context) { return tune_on_rank(context, *options, cores, began_ns); });
    });
}

}  // namespace tutti
