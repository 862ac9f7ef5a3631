// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/topo_routes.hpp"
#include "topology/detect.hpp"
#include "topology/fingerprint.hpp"
#include "topology/machine.hpp"

namespace tutti {

Exit run_topo(const Arguments& arguments) {
    bool as_json = false;
    CLI::App app{"This machine as a tree: packages, caches, cores, memory, GPUs, NICs.",
                 "tutti topo"};
    app.add_flag("--json", as_json, "for programs");
    RouteOptions routes;
    add_route_options(app, routes);
    if (parse_or_help(app, arguments)) return Exit::ok;
    const Host host = detect_host();
    if (const auto text = routes_text(Machine{.hosts = {host}, .network = {}}, routes,
                                      as_json ? TextFor::programs : TextFor::people)) {
        fmt::print("{}", *text);
        return Exit::ok;
    }
    if (as_json)
        fmt::print("{}\n", to_json(host));
    else
        fmt::print("{}fingerprint {}\n", print_tree(host), fingerprint(host));
    return Exit::ok;
}

}  // namespace tutti
