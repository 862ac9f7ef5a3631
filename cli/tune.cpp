// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "autotune/choice/subject.hpp"
#include "autotune/model/model_file.hpp"
#include "autotune/model/model_json.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/tuner/calibration.hpp"
#include "autotune/tuner/tasks.hpp"
#include "base/clock.hpp"
#include "cli/notebook.hpp"
#include "cli/options/tune_options.hpp"
#include "cli/prepare.hpp"
#include "cli/progress_bar.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/watchdog.hpp"
#include "cli/tune_tables.hpp"
#include "topology/detect/host_facts.hpp"
#include "workloads/limits/rank_team.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

// What decides which samples belong together; not where the table goes, nor the time for it.
std::string plan_of(const TuneOptions& options) {
    TextByName asked = options.as_understood;
    for (const char* name : {"resume", "table", "budget", "timeout", "hold-out"}) asked.erase(name);
    std::string text;
    for (const auto& [name, value] : asked) text += fmt::format("{}={} ", name, value);
    return text;
}

// "butterfly/shm; from 6K two-shot/shm"
std::string in_a_line(const std::vector<Range>& ranges) {
    std::string text;
    for (const Range& range : ranges)
        text += range.from.count == 0
                    ? to_string(range.choice)
                    : fmt::format("; from {} {}", to_string(range.from), to_string(range.choice));
    return text;
}

// A file that cannot be read is replaced.
CostModel merged_with_kept(const std::filesystem::path& path, const CostModel& model) {
    try {
        return merged(read_model(path), model);
    } catch (const Error&) {
        return model;
    }
}

// What rank 0 says and keeps while the tuner works; other ranks are silent.
class Output {
public:
    Output(const TuneOptions& options, const JobShape& setting, const Session& session,
           std::size_t subjects, bool speaks)
        : speaks_(speaks), table_file_(options.table_file), subjects_(subjects), bar_(1000) {
        if (speaks_) notebook_.emplace(options.table_file, session);
        if (speaks_ && options.job == TuneOptions::Job::tune)
            notebook_->log_races(setting, plan_of(options), options.resume);
    }

    void begin(const std::vector<std::string>& notes) const {
        if (!speaks_) return;
        for (const std::string& note : notes) fmt::print("# {}\n", note);
        if (!notebook_->earlier().empty())
            fmt::print("# goes on: {} races are known from {}.races\n", notebook_->earlier().size(),
                       table_file_);
        std::fflush(stdout);
    }

    // Of rank 0, on all ranks. Collective.
    std::vector<RaceLog::Entry> earlier(World& world) const {
        return races_of_first(world,
                              speaks_ ? notebook_->earlier() : std::vector<RaceLog::Entry>{});
    }
    Table table(World& world) const {
        const std::string text = speaks_ ? to_json(notebook_->table()) : "";
        return parse_table(gather_all_texts(world, text)[0], table_file_);
    }

    // The table's. Collective.
    std::optional<CostModel> model(World& world) const {
        std::optional<CostModel> mine;
        if (speaks_ && !notebook_->table().model.empty())
            mine = model_from_json(notebook_->table().model, table_file_);
        return model_of_first(world, mine);
    }

    // Ended by itself, and compared with the library if that is asked for.
    bool is_done(const JobShape& setting, const Subject& subject, bool is_held_out) const {
        const Section* known = find_section(notebook_->table(), setting, subject);
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
            say_activity(to_string(subject));
            if (speaks_) show(subject, done, now);
        };
        events.raced = [this](const RaceLog::Entry& entry) {
            if (speaks_) notebook_->add(entry);
        };
        events.section = [this](const Section& section) {
            section_ = section;
            if (speaks_) notebook_->put(section);
        };
        events.under_way = [this](const Section& section) {
            if (speaks_) notebook_->put_draft(section);
        };
        events.cost = [this](const Subject& subject, const TuneCost& cost) {
            ++subjects_done_;
            if (speaks_) print(subject, cost);
        };
        events.wrong = [this](const Subject& subject, const Configuration& configuration) {
            any_wrong_ = true;
            if (!speaks_) return;
            bar_.clear();
            fmt::print(stderr, "tutti: {} gave a wrong result for {}: it is left out\n",
                       to_string(configuration), to_string(subject));
        };
        return events;
    }

    // The model goes into the table, and is kept for other commands.
    void calibrated(const Calibration& calibration,
                    const std::optional<std::filesystem::path>& path) {
        if (!speaks_) return;
        const CostModel& model = calibration.model;
        notebook_->put(calibration);
        fmt::print("# cost model calibrated by {} samples in {:.1f} s\n", calibration.samples,
                   calibration.seconds);
        if (path) try {
                const bool is_known = std::filesystem::exists(*path);
                keep_model(is_known ? merged_with_kept(*path, model) : model, *path);
            } catch (const Error& error) {  // the table has it in any case
                fmt::print("# the model is not kept: {}\n", error.what());
            }
    }

    Exit end() {
        if (speaks_) {
            bar_.clear();
            fmt::print("# table: {} (tutti tune --explain {})\n", table_file_, table_file_);
        }
        return any_wrong_ ? Exit::wrong_result : Exit::ok;
    }

private:
    void show(const Subject& subject, double done, const std::string& now) {
        const double share = (static_cast<double>(subjects_done_) + done) /
                             static_cast<double>(std::max<std::size_t>(subjects_, 1));
        bar_.reach(static_cast<std::size_t>(1000 * share));
        bar_.show(now.empty() ? to_string(subject)
                              : fmt::format("{}: {}", to_string(subject), now));
    }

    void print(const Subject& subject, const TuneCost& cost) {
        notebook_->add(subject, cost);
        bar_.clear();
        fmt::print("{}: {}\n", to_string(subject), in_a_line(section_.ranges));
        if (cost.samples > 0) fmt::print("    {} samples in {:.1f} s", cost.samples, cost.seconds);
        if (cost.hold_out_samples > 0)
            fmt::print("{}against the library {} in {:.1f} s", cost.samples > 0 ? "; " : "    ",
                       cost.hold_out_samples, cost.hold_out_seconds);
        const bool tells_cost = cost.samples > 0 || cost.hold_out_samples > 0;
        if (!section_.is_complete)
            fmt::print("{}the time did not suffice for all\n", tells_cost ? "; " : "    ");
        else if (tells_cost)
            fmt::print("\n");
        std::fflush(stdout);
    }

    bool speaks_;
    std::string table_file_;
    std::size_t subjects_, subjects_done_ = 0;
    ProgressBar bar_;
    std::optional<Notebook> notebook_;
    Section section_;  // the last one
    bool any_wrong_ = false;
};

// The launcher may have bound each rank to a core of its own: then those of all count. Collective.
int cores_of_host(World& world) {
    return std::max(from_rank0(world, usable_cores()), RankTeam::members_of(world));
}

// What several hosts are like, if they are alike.
std::string host_of(const Launch& launch) {
    const std::string& first = launch.hosts.front().topo_sha256;
    const auto is_like_first = [&](const HostRecord& host) { return host.topo_sha256 == first; };
    return launch.hosts.size() > 1 && std::ranges::all_of(launch.hosts, is_like_first) ? first : "";
}

// Measured now, or what an earlier run has kept; the same on all ranks. Collective.
std::optional<CostModel> model_for(Planner& planner, const TuneRequest& request,
                                   const TuneOptions& options, const ModelledMachine& machine,
                                   Output& output) {
    if (options.model == "none") return std::nullopt;
    World& world = planner.world();
    const auto path = model_path(machine.fingerprint);
    // A search that goes on has to see the same predictions.
    if (options.resume)
        if (auto model = output.model(world)) return model;
    std::optional<CostModel> model;
    if (options.model == "measure") {
        const auto calibration = calibrate_here(planner, request, machine);
        if (!calibration) return std::nullopt;
        output.calibrated(*calibration, path);
        return calibration->model;
    }
    if (!world.is_first()) return model_of_first(world, std::nullopt);
    if (path && std::filesystem::exists(*path)) model = read_model(*path);
    return model_of_first(world, model);
}

Exit tune_on_rank(World& world, const TuneOptions& options, const Arguments& arguments) {
    // And what it would calibrate would take the place of what more ranks have.
    if (world.size() == 1)
        throw Error(
            "one rank has nothing to tune; type for example: mpirun -np 2 tutti tune, or add "
            "--ranks 2 for threads");
    const std::int64_t began = now_ns();
    const int cores = cores_of_host(world);  // before ranks are pinned
    const int ranks_on_core = options.pin ? pin_ranks(world) : 0;
    const Session session =
        describe_session("tune", arguments, options.as_understood, options.request.protocol.seed);
    Planner planner(world);
    const HostTuning tuning = host_tuning(world, std::nullopt, std::nullopt);
    planner.tune(tuning);
    const Launch launch = describe_launch(world, session.id);
    const JobShape setting = job_shape_of(world);
    std::vector<std::string> notes = in_notes(launch, world);
    if (ranks_on_core > 0) notes.push_back(in_words_of_pinning(ranks_on_core));
    GlobalClock clock(world);
    TuneRequest request = options.request;
    request.protocol.clock = &clock;
    leave_out_unusable(request.search_space, planner, notes);
    expect_runner(request.search_space, request.collectives.front(), planner);
    request.environment = ground_of(world, {}, 0, 0, notes);
    Output output(options, setting, session, subjects_of(request, kinds_for(request, world)).size(),
                  world.is_first());
    output.begin(notes);
    const double spent = from_rank0(world, seconds_since(began));
    request.budget_seconds = std::max(request.budget_seconds - spent, 1.0);
    if (options.job == TuneOptions::Job::hold_out) {
        if (output.table(world).sections.empty())
            throw Error(fmt::format("'{}' has nothing to compare; type: tutti tune --table {}",
                                    options.table_file, options.table_file));
        hold_out(planner, request, setting, session.id, output.table(world), output.events());
        return output.end();
    }
    const std::int64_t before_model = now_ns();
    const ModelledMachine machine{setting.topology, cores, tuning, host_of(launch)};
    const auto model = model_for(planner, request, options, machine, output);
    const CallPredictor predictor =
        model ? predictor_of_calls(*model, world.hosts()) : CallPredictor{};
    request.budget_seconds -= from_rank0(world, seconds_since(before_model));
    TuneEvents events = output.events();
    if (options.resume && world.is_first())
        events.is_done = [&](const Subject& subject) {
            return output.is_done(setting, subject, request.holds_out);
        };
    tune(planner, request, setting, session.id, predictor, output.earlier(world), events);
    return output.end();
}

}  // namespace

Exit run_tune(const Arguments& arguments) {
    const auto options = parse_tune(arguments);
    if (!options) return Exit::ok;
    const bool needs_ranks =
        options->job == TuneOptions::Job::tune || options->job == TuneOptions::Job::hold_out;
    if (!needs_ranks && launcher().rank > 0) return Exit::ok;  // one of them does it
    if (options->job == TuneOptions::Job::explain) return explain_tables(*options);
    if (options->job == TuneOptions::Job::merge) return merge_tables(*options);
    if (options->job == TuneOptions::Job::model_only) return predict_table(*options);
    before_start(options->request.search_space);
    return run_ranks(options->ranks,
                     [&](World& world) { return tune_on_rank(world, *options, arguments); });
}

}  // namespace tutti
