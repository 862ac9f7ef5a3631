// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cli/gpu_words.hpp"
#include "cli/options/options.hpp"
#include "cli/topo_files.hpp"
#include "cli/topo_routes.hpp"
#include "collectives/world/gather_machine.hpp"
#include "topology/detect/detect.hpp"
#include "topology/draw/draw.hpp"
#include "topology/import/import.hpp"
#include "topology/machine/machine.hpp"
#include "topology/routes/nccl_export.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

struct TopoOptions {
    bool as_json = false;
    fs::path from, root;
    fs::path nccl_xml, svg, dot;
    RouteOptions routes;
    bool writes_files() const { return !nccl_xml.empty() || !svg.empty() || !dot.empty(); }
};

void write_nccl_xml(const fs::path& file, const Machine& machine) {
    if (machine.hosts.size() != 1)
        throw Error(
            fmt::format("--nccl-xml: an NCCL file describes one host, and these are {}; "
                        "run it on each host alone",
                        machine.hosts.size()));
    write_file(file, to_nccl_xml(machine.hosts.front()));
}

void show(const Machine& machine, const TopoOptions& options) {
    if (!options.nccl_xml.empty()) write_nccl_xml(options.nccl_xml, machine);
    if (!options.svg.empty()) write_file(options.svg, to_svg(machine));
    if (!options.dot.empty()) write_file(options.dot, to_dot(machine));
    if (const auto text = routes_text(machine, options.routes,
                                      options.as_json ? TextFor::programs : TextFor::people))
        fmt::print("{}", *text);
    else if (options.as_json)
        fmt::print("{}\n", to_json(machine));
    else if (!options.writes_files())
        fmt::print("{}", print_tree(machine));
}

// What CUDA lets programs use belongs to no picture of the machine.
bool is_this_host_as_a_tree(const TopoOptions& options) {
    return options.from.empty() && options.root.empty() && !options.as_json &&
           !options.writes_files() && !options.routes.asks();
}

// A machine that files describe: each rank would read the same.
std::optional<Machine> described_machine(const TopoOptions& options) {
    if (!options.from.empty() && !options.root.empty())
        throw Error("--from and --root are two machines; leave one of them out");
    if (!options.from.empty()) return read_machine(options.from);
    if (!options.root.empty())
        return Machine{.hosts = {detect_host_in(options.root)}, .network = {}};
    if (launcher().size == 1) return Machine{.hosts = {detect_host()}, .network = {}};
    return std::nullopt;
}

}  // namespace

Exit run_topo(const Arguments& arguments) {
    TopoOptions options;
    CLI::App app{
        "The machine as a tree: packages, caches, cores, memory, PCIe, GPUs, NICs, links. Under "
        "mpirun all hosts of the ranks.",
        "tutti topo"};
    app.add_option("--from", options.from,
                   "not this machine but one that a file describes: " + import_formats())
        ->type_name("FILE");
    app.add_option("--root", options.root,
                   "not this machine but one of which a folder has a copy of /proc and /sys")
        ->type_name("FOLDER");
    app.add_flag("--json", options.as_json, "for programs, and for --from");
    app.add_option("--svg", options.svg, "write a picture")->type_name("FILE");
    app.add_option("--dot", options.dot, "write a graph for Graphviz")->type_name("FILE");
    app.add_option("--nccl-xml", options.nccl_xml, "write the machine for NCCL_TOPO_FILE")
        ->type_name("FILE");
    add_route_options(app, options.routes);
    if (parse_or_help(app, arguments)) return Exit::ok;

    if (const auto machine = described_machine(options)) {
        if (launcher().rank == 0) show(*machine, options);
        if (is_this_host_as_a_tree(options))
            for (const auto& line : gpus_in_words()) fmt::print("{}\n", line);
        return Exit::ok;
    }
    return run_ranks({}, [&](World& world) {
        const Machine machine = gather_machine(world);
        if (world.is_first()) show(machine, options);
        return Exit::ok;
    });
}

}  // namespace tutti
