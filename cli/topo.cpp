// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "cli/options.hpp"
#include "cli/topo_routes.hpp"
#include "topology/detect.hpp"
#include "topology/fingerprint.hpp"
#include "topology/import/import.hpp"
#include "topology/machine.hpp"
#include "topology/nccl_export.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

struct TopoOptions {
    bool as_json = false;
    fs::path from;
    fs::path nccl_xml;
};

Machine machine_asked_for(const TopoOptions& options) {
    if (!options.from.empty()) return read_machine(options.from);
    return {.hosts = {detect_host()}, .network = {}};
}

void write_file(const fs::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text << std::flush;
    if (!stream)
        throw Error(file.string() + ": cannot be written; give a file in a folder of yours");
}

void write_nccl_xml(const fs::path& file, const Machine& machine) {
    if (machine.hosts.size() != 1)
        throw Error(
            fmt::format("--nccl-xml: an NCCL file describes one host, and these are {}; "
                        "run it on each host alone",
                        machine.hosts.size()));
    write_file(file, to_nccl_xml(machine.hosts.front()));
}

void print_trees(const Machine& machine) {
    for (const Host& host : machine.hosts)
        fmt::print("{}fingerprint {}\n", print_tree(host), fingerprint(host));
}

}  // namespace

Exit run_topo(const Arguments& arguments) {
    TopoOptions options;
    CLI::App app{"The machine as a tree: packages, caches, cores, memory, GPUs, NICs.",
                 "tutti topo"};
    app.add_option("--from", options.from,
                   "not this machine but one that a file describes: " + import_formats())
        ->type_name("FILE");
    app.add_flag("--json", options.as_json, "for programs, and for --from");
    app.add_option("--nccl-xml", options.nccl_xml, "write the machine for NCCL_TOPO_FILE")
        ->type_name("FILE");
    RouteOptions routes;
    add_route_options(app, routes);
    if (parse_or_help(app, arguments)) return Exit::ok;

    const Machine machine = machine_asked_for(options);
    if (!options.nccl_xml.empty()) write_nccl_xml(options.nccl_xml, machine);
    if (const auto text =
            routes_text(machine, routes, options.as_json ? TextFor::programs : TextFor::people))
        fmt::print("{}", *text);
    else if (options.as_json)
        fmt::print("{}\n", to_json(machine));
    else if (options.nccl_xml.empty())
        print_trees(machine);
    return Exit::ok;
}

}  // namespace tutti
