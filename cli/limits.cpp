// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limits.hpp"

#include <fmt/format.h>

#include "autotune/tuner/known_machine.hpp"
#include "base/clock.hpp"
#include "cli/build_info.hpp"
#include "cli/options/options.hpp"
#include "cli/options/run_options.hpp"
#include "cli/options/values.hpp"
#include "cli/provenance.hpp"
#include "cli/reporter.hpp"
#include "topology/detect/host_facts.hpp"
#include "workloads/limits/limits_table.hpp"

namespace tutti {
namespace {

struct LimitsOptions {
    double budget_seconds = 0;
    bool no_store = false, keeps_anyway = false;
    RunOptions run;
};

Exit limits_on_rank(World& world, const LimitsOptions& options) {
    const std::int64_t began_ns = now_ns();
    Reporter reporter(world, describe_session(world, options.run, /*seed=*/0),
                      options.run.results_file());
    Launch launch = describe_launch(world, reporter.session().id);
    launch.health = reporter.health_at_begin();
    reporter.begin(launch, 1);
    const double budget = options.budget_seconds;
    Limits limits = limits_of_hosts(
        world, [&](World& host) { return measure_limits(host, budget); }, budget, budget);
    std::vector<std::string> notes = head_notes(this_tool(), launch);
    notes.push_back(fmt::format("best of several tries on {} cores{}, in {:.1f} s", limits.cores,
                                limits.network ? " of the first host and on the network" : "",
                                seconds_since(began_ns)));
    if (is_disturbed(limits.taken)) notes.push_back(describe_taken(limits.taken));
    reporter.keep(limits);
    reporter.print(limits_table(limits, notes));
    const Exit code = reporter.end(Reporter::Outcome::measured);
    if (!reporter.is_active() || options.no_store) return code;
    if (options.keeps_anyway) limits.taken = 0;
    fmt::print("# {}\n", keep_for_later(limits));
    return code;
}

}  // namespace

Exit run_limits(const Arguments& arguments) {
    LimitsOptions options;
    RankOptions& ranks = options.run.ranks;
    CLI::App app{
        "Measures the limits of this machine, from which the minimum time of each collective "
        "follows.",
        "tutti limits"};
    const OptionGroup group(app, "Options");
    group.parsed("--budget", options.budget_seconds, "4s", budget_of("--budget"),
                 "Approximate time of the measurement");
    group.text("--json", ranks.results_file, "Results file (JSON Lines); records are appended");
    group.flag("--no-store", options.no_store, "Do not store the result for 'tutti bench'");
    group.flag("--keep-anyway", options.keeps_anyway,
               "Store the result although other programs used the cores (default: then only better "
               "values are stored)");
    add_timeout(group, ranks);
    add_threads(group, ranks, "Run N ranks as threads, without mpirun (default: one per core)");
    add_rendezvous(group);
    if (parse_or_help(app, arguments)) return Exit::ok;
    set_plan(options.run, plan_of("limits", app, arguments));
    if (!ranks.threads && !launcher().is_there()) ranks.threads = usable_cores();
    return run_ranks(ranks, [&](World& world) { return limits_on_rank(world, options); });
}

}  // namespace tutti
