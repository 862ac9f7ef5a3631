// SPDX-License-Identifier: Apache-2.0
#include "cli/topo_routes.hpp"

#include "base/error.hpp"
#include "cli/topo_files.hpp"
#include "topology/machine/printable.hpp"
#include "topology/routes/paths.hpp"
#include "topology/routes/rings.hpp"
#include "topology/routes/trees.hpp"

namespace tutti {
namespace {

constexpr int most_hosts = 1024;

Machine wanted_hosts(const Machine& machine, int hosts) {
    if (machine.hosts.empty()) throw Error("no host is described there; try another --from FILE");
    if (hosts == 1) return machine;
    if (machine.hosts.size() > 1)
        throw Error("--hosts copies one host, and there are " +
                    std::to_string(machine.hosts.size()) + "; leave it out");
    return copies_of(machine.hosts.front(), hosts);
}

std::string paths_text(const Machine& machine, TextFor reader) {
    if (reader == TextFor::programs) return paths_to_json(machine) + "\n";
    std::string text;
    for (const Host& host : machine.hosts) {
        if (machine.hosts.size() > 1) text += printable(host.name) + ": ";
        text += print_paths(host);
    }
    return text;
}

}  // namespace

void add_route_options(CLI::App& app, RouteOptions& options) {
    app.add_flag("--paths", options.paths,
                 "between GPUs and NIC ports: path types as NCCL names them, bandwidths");
    app.add_flag("--rings", options.rings,
                 "rings and trees ordered from the machine, next to the naive order");
    app.add_option("--hosts", options.hosts, "for --rings: so many hosts like this one")
        ->check(CLI::Range(1, most_hosts));
    app.add_option(
           "--nvlinks", options.nvlinks,
           "as if each GPU had so many NVLinks to NVSwitches, for files that leave them out")
        ->check(CLI::Range(1, 18));
    app.add_option(
        "--order-file", options.order_file,
        "write the rings as ranks, a channel per line ('-': print them); one rank per GPU");
}

std::optional<std::string> routes_text(Machine machine, const RouteOptions& options,
                                       TextFor reader) {
    const bool wants_rings = options.rings || !options.order_file.empty();
    if (!wants_rings && options.hosts != 1)
        throw Error("--hosts is for --rings; type tutti topo --rings --hosts " +
                    std::to_string(options.hosts));
    if (!wants_rings && !options.paths) {
        if (options.nvlinks > 0)
            throw Error("--nvlinks is for --rings and --paths; add one of them");
        return {};
    }
    if (wants_rings && options.paths && reader == TextFor::programs)
        throw Error("--json describes either --paths or --rings; give one of them");
    if (options.order_file == "-" && reader == TextFor::programs)
        throw Error("--json and --order-file - would both print; give --order-file FILE");
    if (options.nvlinks > 0)
        for (Host& host : machine.hosts) host = with_nvswitches(host, options.nvlinks);
    std::string text;
    if (options.paths) text += paths_text(machine, reader);
    if (!wants_rings) return text;

    const Machine hosts = wanted_hosts(machine, options.hosts);
    const RingPlan plan = plan_rings(hosts);
    if (options.order_file == "-") return text + print_order(plan);
    if (!options.order_file.empty()) write_file(options.order_file, print_order(plan));
    if (!options.rings) return text;
    if (reader == TextFor::programs) return text + rings_to_json(plan) + "\n";
    if (options.paths) text += "\n";
    if (plan.found.limit.empty()) return text + print_rings(plan);  // nor has a tree any link
    return text + print_rings(plan) + "\n" +
           print_trees(plan.hosts, plan_trees(plan.hosts, hosts.network));
}

}  // namespace tutti
