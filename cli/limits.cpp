// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limits.hpp"

#include <fmt/format.h>

#include <memory>

#include "base/clock.hpp"
#include "cli/limits_table.hpp"
#include "cli/options/options.hpp"
#include "cli/options/typed_values.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/guardian.hpp"
#include "results/limits.hpp"
#include "results/store.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

struct LimitsOptions {
    std::string budget = "4s", hang_timeout = "30s", json_file;
    int ranks = 0;
    bool no_store = false;
    TextByName as_understood;
};

void keep(const Limits& limits) {
    const auto path = limits_path(limits.topo_sha256);
    if (!path) {
        fmt::print("# not kept: neither XDG_CACHE_HOME nor HOME is set\n");
        return;
    }
    Limits best = limits;
    best.network.reset();  // of these hosts of this launch, not of this host
    std::string from;
    if (std::filesystem::exists(*path)) try {
            best = best_of(best, read_limits(*path));
            from = ", with what was better in earlier runs (remove the file to begin anew)";
        } catch (const Error& error) {
            fmt::print("# replaced: {}\n", error.what());
        }
    keep_limits(best, *path);
    fmt::print("# kept in {}{}\n", path->string(), from);
}

Exit limits_on_rank(World& world, const LimitsOptions& options, const Arguments& arguments) {
    const std::int64_t began_ns = now_ns();
    const bool speaks = world.is_first();
    const Session session = describe_session("limits", arguments, options.as_understood, 0);
    std::unique_ptr<Store> store;
    if (speaks && !options.json_file.empty()) store = std::make_unique<Store>(options.json_file);
    const Launch launch = describe_launch(world, session.id);
    if (speaks && store) {
        store->append(session);
        announce_session(session.id);
        store->append(launch);
    }
    const double budget = parse_seconds(options.budget);
    Limits limits = limits_of_hosts(
        world, [&](World& host) { return measure_limits(host, budget); }, budget, budget);
    limits.session = session.id;
    if (!speaks) return Exit::ok;
    const double seconds = seconds_since(began_ns);
    std::vector<std::string> notes = in_notes(launch, world);
    notes.push_back(fmt::format("best of several tries on {} cores{}, in {:.1f} s", limits.cores,
                                limits.network ? " of the first host and on the network" : "",
                                seconds));
    fmt::print("{}", limits_table(limits, notes));
    if (store) {
        store->append(limits);
        store->append(End{session.id, 1, true, now_ns() - began_ns});
    }
    if (!options.no_store) keep(limits);
    return Exit::ok;
}

}  // namespace

Exit run_limits(const Arguments& arguments) {
    LimitsOptions options;
    CLI::App app{"What this machine can do at its best: the least time of each collective follows.",
                 "tutti limits"};
    app.add_option("--budget", options.budget, "measure about so long")->capture_default_str();
    app.add_option("--json", options.json_file, "append records to this file (JSON Lines)");
    app.add_flag("--no-store", options.no_store, "do not keep the result for 'tutti bench'");
    app.add_option("-T,--timeout,--hang-timeout", options.hang_timeout, "give up on a rank after")
        ->capture_default_str();
    app.add_option("--ranks", options.ranks,
                   "without mpirun: so many threads; else one for each core")
        ->check(CLI::Range(1, 1024));
    if (parse_or_help(app, arguments)) return Exit::ok;
    options.as_understood = understood(app);
    parse_seconds(options.budget);  // throws before any rank starts
    RankOptions ranks{.threads = {},
                      .hang_timeout = timeout_of(options.hang_timeout),
                      .results_file = options.json_file};
    if (options.ranks > 0) ranks.threads = options.ranks;
    if (!ranks.threads && !launcher().is_there()) ranks.threads = usable_cores();
    return run_ranks(ranks,
                     [&](World& world) { return limits_on_rank(world, options, arguments); });
}

}  // namespace tutti
