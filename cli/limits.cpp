// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limits.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"
#include "cli/build_info.hpp"
#include "cli/known/kept_limits.hpp"
#include "cli/known/limits_table.hpp"
#include "cli/options/options.hpp"
#include "cli/options/run_options.hpp"
#include "cli/options/values.hpp"
#include "cli/provenance.hpp"
#include "cli/reporter.hpp"
#include "topology/detect/host_facts.hpp"

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
    std::vector<std::string> notes = describe_in_words(this_tool(), launch);
    notes.push_back(fmt::format("best of several tries on {} cores{}, in {:.1f} s", limits.cores,
                                limits.network ? " of the first host and on the network" : "",
                                seconds_since(began_ns)));
    if (is_disturbed(limits.taken)) notes.push_back(in_words_of_taken(limits.taken));
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
    options.run.command = "limits";
    options.run.arguments = arguments;
    RankOptions& ranks = options.run.ranks;
    CLI::App app{"What this machine can do at its best: the least time of each collective follows.",
                 "tutti limits"};
    const OptionGroup group(app, "Options");
    group.parsed("--budget", options.budget_seconds, "4s", parse_seconds, "measure about so long");
    group.text("--json", ranks.results_file, "append records to this file (JSON Lines)");
    group.flag("--no-store", options.no_store, "do not keep the result for 'tutti bench'");
    group.flag("--keep-anyway", options.keeps_anyway,
               "keep it although others use the cores; else that only improves what is kept");
    add_timeout(group, ranks);
    add_threads(group, ranks, "without mpirun: so many threads; else one for each core");
    add_rendezvous(group);
    if (parse_or_help(app, arguments)) return Exit::ok;
    options.run.as_understood = understood(app);
    if (!ranks.threads && !launcher().is_there()) ranks.threads = usable_cores();
    return run_ranks(ranks, [&](World& world) { return limits_on_rank(world, options); });
}

}  // namespace tutti
