// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "autotune/table/table_for_ranks.hpp"
#include "autotune/table/table_in_words.hpp"
#include "base/clock.hpp"
#include "base/units.hpp"
#include "cli/auto/method_by_table.hpp"
#include "cli/limits_choice.hpp"
#include "cli/options/workload_options.hpp"
#include "cli/prepare.hpp"
#include "cli/progress_bar.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/failures.hpp"
#include "cli/ranks/guardian.hpp"
#include "cli/ranks/watchdog.hpp"
#include "results/step_table.hpp"
#include "results/store.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

// Rank 0's voice: table and records. On other ranks everything is silent.
class Output {
public:
    Output(const WorkloadOptions& options, const Arguments& arguments, bool speaks)
        : options_(options),
          speaks_(speaks),
          session_(describe_session("workload", arguments, options.as_understood,
                                    options.protocol.seed)),
          began_ns_(now_ns()) {
        if (speaks_ && !options.json_file.empty())
            store_ = std::make_unique<Store>(options.json_file);
    }

    const std::string& session() const { return session_.id; }
    const std::unique_ptr<Store>& store() const { return store_; }

    void begin(const Launch& launch, std::vector<std::string> notes) {
        if (!speaks_) return;
        if (store_) {
            store_->append(session_);
            announce_session(session_.id);
            store_->append(launch);
        }
        notes.insert(notes.begin() + 1,
                     fmt::format("{} {}", session_.argv[0],
                                 fmt::join(session_.argv.begin() + 1, session_.argv.end(), " ")));
        fmt::print("{}", step_table_header(notes));
        std::fflush(stdout);
        bar_ = std::make_unique<ProgressBar>(100);
    }

    // The share of whichever end comes first: of steps, or of time once the least steps are done.
    void after_round(std::int64_t rounds, double seconds) {
        if (!speaks_) return;
        const StepProtocol& until = options_.protocol;
        if (rounds < until.min_rounds && seconds > until.max_seconds) is_longer_ = true;
        seconds_ = seconds;
        rounds_ = rounds;
        const auto done = static_cast<double>(rounds);
        const double by_time = std::min(seconds / std::max(until.max_seconds, 1e-9),
                                        done / static_cast<double>(until.min_rounds));
        const double share = std::max(by_time, done / static_cast<double>(until.max_rounds));
        bar_->reach(static_cast<std::size_t>(100 * std::min(share, 1.0)));
        bar_->show(rounds == 0 ? "warming up" : counted(rounds, "step") + " of each way");
    }

    Exit end(std::vector<TrainingStep> steps) {
        bool any_wrong = false, any_done = false;
        for (TrainingStep& step : steps) {
            step.session = session_.id;
            step.key.workload = options_.workload->name;
            step.key.buffers = options_.buffers ? name_of(*options_.buffers) : "";
            step.key.settings = settings_in_words();
            any_wrong = any_wrong || step.check.state == CheckState::fail;
            any_done = any_done || !step.skipped;
            if (store_) store_->append(step);
        }
        if (speaks_) {
            if (bar_) bar_->clear();
            fmt::print("{}{}{}", step_table_rows(steps), note_of_length(),
                       step_table_footer(steps));
        }
        std::fflush(stdout);
        if (store_) store_->append(End{session_.id, 1, !any_wrong, now_ns() - began_ns_});
        if (any_wrong) return Exit::wrong_result;
        if (any_done) return Exit::ok;
        if (speaks_)
            fmt::print(stderr, "tutti: nothing was measured: the lines '# skipped' say why\n");
        return Exit::usage;
    }

private:
    // What steps must agree in to be compared.
    std::string settings_in_words() const {
        const std::string own = options_.settings.in_words(), skew = options_.skew.in_words();
        return fmt::format("{}{}{}", own, own.empty() || skew.empty() ? "" : " ", skew);
    }

    std::string note_of_length() const {
        if (!is_longer_) return {};
        return fmt::format("# {:.1f} s, longer than --max-time: --min-steps wants {} of each way\n",
                           seconds_, counted(rounds_, "step"));
    }

    const WorkloadOptions& options_;
    bool speaks_;
    bool is_longer_ = false;
    double seconds_ = 0;
    std::int64_t rounds_ = 0;
    std::unique_ptr<ProgressBar> bar_;
    Session session_;
    std::int64_t began_ns_;
    std::unique_ptr<Store> store_;
};

std::string source_of_auto(World& world, const WorkloadOptions& options, bool is_there) {
    if (!is_there) return "by built-in rules";
    const auto table = table_for_ranks(world, options.table_file, {.anyway = options.table_anyway});
    std::vector<BufferKind> kinds;
    if (options.buffers) kinds.push_back(*options.buffers);
    return source_in_words(table, options.table_file, kinds);
}

// What the user names, libraries last.
std::vector<Method> ways_of(Planner& planner, const WorkloadOptions& options,
                            const SearchSpace& search_space, std::vector<std::string>& notes) {
    std::vector<Method> ways = ways_named(search_space);
    if (options.chooses) {
        const bool is_there =
            from_rank0(planner.world(), std::filesystem::exists(options.table_file));
        if (!is_there && options.table_must_be)
            throw Error(
                fmt::format("there is no table '{}'; type --table FILE of 'tutti tune', or leave "
                            "it out for built-in rules",
                            options.table_file));
        notes.push_back("auto: " + source_of_auto(planner.world(), options, is_there));
        ways.insert(ways.begin(), method_by_table(options.table_file, options.table_anyway));
    }
    return with_compressed(std::move(ways), options.compressions);
}

Exit workload_on_rank(World& world, const WorkloadOptions& options, const Arguments& arguments) {
    Output output(options, arguments, world.is_first());
    return recording_failures(world, output.store(), output.session(), [&] {
        std::vector<std::string> limit_notes;
        const auto limits = choose_limits(world, options.limits, limit_notes);
        const int ranks_on_core = options.pin ? pin_ranks(world) : 0;
        Planner planner(world);
        planner.tune(host_tuning(world, limits, std::nullopt));
        const Launch launch = describe_launch(world, output.session());
        GlobalClock clock(world);
        std::vector<std::string> notes = in_notes(launch, world);
        if (ranks_on_core > 0) notes.push_back(in_words_of_pinning(ranks_on_core));
        SearchSpace search_space = options.search_space;
        leave_out_unusable(search_space, planner, notes);
        const auto named = ways_of(planner, options, search_space, notes);
        StepProtocol protocol = options.protocol;
        protocol.clock = &clock;
        protocol.after_round = [&](std::int64_t rounds, double seconds) {
            output.after_round(rounds, seconds);
        };
        say_activity(fmt::format("setting up {}", options.workload->name));
        const auto scenario =
            options.workload->make(options.settings, {.planner = planner,
                                                      .compute = options.compute,
                                                      .buffers = options.buffers,
                                                      .transports = search_space.transports,
                                                      .clock = &clock,
                                                      .seed = options.protocol.seed,
                                                      .named = named,
                                                      .skew = options.skew});
        if (!options.skew.is_none() && !scenario->has_compute_mode())
            throw Error(
                fmt::format("{} computes for real, so nothing is late by plan; leave out --skew "
                            "and --slow-rank",
                            options.workload->name));
        for (const std::string& note : scenario->notes()) notes.push_back(note);
        notes.push_back(fmt::format(
            "{} of {}: {} of {} bytes in all a step and rank{}", options.workload->name,
            scenario->model(), counted(scenario->calls_of_step(), "call"),
            scenario->bytes_of_step(),
            scenario->has_compute_mode() ? fmt::format("; compute: {}", name_of(options.compute))
                                         : ""));
        output.begin(launch, notes);
        say_activity(std::string(options.workload->name));
        const auto ways = scenario->ways(named);
        auto steps = run_scenario(world, *scenario, ways, protocol);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            StepKey& key = steps[i].key;
            if (scenario->has_compute_mode()) key.compute = name_of(options.compute);
            const std::string& over = ways[i].transport;
            if (!over.empty() && planner.is_virtual(over)) key.placement = virtual_ranks;
        }
        return output.end(std::move(steps));
    });
}

}  // namespace

Exit run_workload(const Arguments& arguments) {
    const auto options = parse_workload(arguments);
    if (!options) return Exit::ok;
    before_start(options->search_space);
    return run_ranks(options->ranks,
                     [&](World& world) { return workload_on_rank(world, *options, arguments); });
}

}  // namespace tutti
