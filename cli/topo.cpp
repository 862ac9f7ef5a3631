// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/output.hpp"
#include "cli/options/options.hpp"
#include "cli/options/run_options.hpp"
#include "cli/provenance.hpp"
#include "cli/script.hpp"
#include "collectives/world/gather_machine.hpp"
#include "topology/detect/detect.hpp"
#include "topology/draw/draw.hpp"
#include "topology/import/import.hpp"
#include "topology/machine/machine.hpp"
#include "topology/machine/printable.hpp"
#include "topology/routes/nccl_export.hpp"
#include "topology/routes/paths.hpp"
#include "topology/routes/rings.hpp"
#include "topology/routes/trees.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

// What `tutti topo` writes beside what it prints. Throws Error where that does not work.
// What `tutti topo` prints of the paths through a machine.
struct RouteOptions {
    bool paths = false;
    bool rings = false;
    int hosts = 1;           //< so many copies of a single host
    int nvlinks = 0;         //< so many from each GPU to NVSwitches; 0: as described
    std::string order_file;  //< where the rings go, for `bench --order-by`; "-" is the output
    bool asks() const { return paths || rings || !order_file.empty(); }
};

enum class TextFor { people, programs };

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

// The text that the options ask for; none if they ask for nothing. Writes the order file. Throws
// Error for what cannot be done.
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
    if (!options.order_file.empty())
        write_file(options.order_file, print_order(plan), "--order-file");
    if (!options.rings) return text;
    if (reader == TextFor::programs) return text + rings_to_json(plan) + "\n";
    if (options.paths) text += "\n";
    if (plan.found.limit.empty()) return text + print_rings(plan);  // nor has a tree any link
    return text + print_rings(plan) + "\n" +
           print_trees(plan.hosts, plan_trees(plan.hosts, hosts.network));
}

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
    write_file(file, to_nccl_xml(machine.hosts.front()), "--nccl-xml");
}

void show(const Machine& machine, const TopoOptions& options) {
    if (!options.nccl_xml.empty()) write_nccl_xml(options.nccl_xml, machine);
    if (!options.svg.empty())
        write_file(options.svg, drawn("machine", to_picture_json(machine), options.svg), "--svg");
    if (!options.dot.empty()) write_file(options.dot, to_dot(machine), "--dot");
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
    add_rendezvous(OptionGroup(app, "Ranks"));
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
