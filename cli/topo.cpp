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

// Options for the paths through a machine.
struct RouteOptions {
    bool paths = false;
    bool rings = false;
    int hosts = 1;           //< number of copies of a single host
    int nvlinks = 0;         //< NVLinks from each GPU to NVSwitches; 0: as described
    std::string order_file;  //< file for the rings, for `bench --order-by`; "-": stdout
    bool asks() const { return paths || rings || !order_file.empty(); }
};

enum class TextFor { people, programs };

constexpr int most_hosts = 1024;

Machine wanted_hosts(const Machine& machine, int hosts) {
    if (machine.hosts.empty())
        throw Error("the description contains no host; use another --from FILE");
    if (hosts == 1) return machine;
    if (machine.hosts.size() > 1)
        throw Error("--hosts works only for a single host; this machine has " +
                    std::to_string(machine.hosts.size()));
    return copies_of(machine.hosts.front(), hosts);
}

std::string paths_text(const Machine& machine, TextFor reader) {
    if (reader == TextFor::programs) return paths_to_json(machine) + "\n";
    if (!shared_fabric(machine).empty())
        return fmt::format("{} hosts of one NVLink fabric: ", machine.hosts.size()) +
               print_paths(graph_of_fabric(machine.hosts));
    std::string text;
    for (const Host& host : machine.hosts) {
        if (machine.hosts.size() > 1) text += printable(host.name) + ": ";
        text += print_paths(graph_of(host));
    }
    return text;
}

void add_route_options(CLI::App& app, RouteOptions& options) {
    app.add_flag("--paths", options.paths,
                 "Print path types (as named by NCCL) and bandwidths between GPUs and NIC ports");
    app.add_flag("--rings", options.rings,
                 "Print rings and trees planned for this machine, next to the naive order");
    app.add_option("--hosts", options.hosts, "Number of hosts like this one, for --rings")
        ->check(CLI::Range(1, most_hosts));
    app.add_option("--nvlinks", options.nvlinks,
                   "NVLinks from each GPU to NVSwitches, for files that omit them")
        ->check(CLI::Range(1, 18));
    app.add_option("--order-file", options.order_file,
                   "File for the rings as ranks, one channel per line ('-': print them), with one "
                   "rank per GPU");
}

// Returns the text for the options; nothing if none is set. Writes the order file. Throws Error.
std::optional<std::string> routes_text(Machine machine, const RouteOptions& options,
                                       TextFor reader) {
    const bool wants_rings = options.rings || !options.order_file.empty();
    if (!wants_rings && options.hosts != 1)
        throw Error("--hosts works only with --rings; use tutti topo --rings --hosts " +
                    std::to_string(options.hosts));
    if (!wants_rings && !options.paths) {
        if (options.nvlinks > 0) throw Error("--nvlinks works only with --rings or --paths");
        return {};
    }
    if (wants_rings && options.paths && reader == TextFor::programs)
        throw Error("--paths and --rings are mutually exclusive with --json");
    if (options.order_file == "-" && reader == TextFor::programs)
        throw Error(
            "--order-file - cannot be used with --json, as both print to stdout; use --order-file "
            "FILE");
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
    if (plan.found.limit.empty())
        return text + print_rings(plan);  // without a limit, trees have no links either
    return text + print_rings(plan) + "\n" +
           print_trees(plan.hosts,
                       plan_trees(plan.hosts, plan.hosts_of_fabric > 1 ? std::vector<NetworkLink>{}
                                                                       : hosts.network));
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
            fmt::format("--nccl-xml: an NCCL file describes one host, not {}; run it on each host",
                        machine.hosts.size()));
    write_file(file, to_nccl_xml(machine.hosts.front()), "--nccl-xml");
}

// Names the products for people only: JSON and files are the same wherever they are written.
Machine with_product_names(Machine machine) {
    for (const char* file : {"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"})
        name_products(machine, file);
    return machine;
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
        fmt::print("{}", print_tree(with_product_names(machine)));
}

// GPUs that CUDA can use are printed only after the tree of this host.
bool is_this_host_as_a_tree(const TopoOptions& options) {
    return options.from.empty() && options.root.empty() && !options.as_json &&
           !options.writes_files() && !options.routes.asks();
}

// Returns a machine that this rank can describe without the others.
std::optional<Machine> described_machine(const TopoOptions& options) {
    if (!options.from.empty() && !options.root.empty())
        throw Error("--from and --root are mutually exclusive");
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
        "Shows the machine as a tree: packages, caches, cores, memory, PCIe, GPUs, NICs, links. "
        "Under mpirun, all hosts of the ranks.",
        "tutti topo"};
    app.add_option("--from", options.from,
                   "Machine described by a file instead of this one. Formats: " + import_formats())
        ->type_name("FILE");
    app.add_option("--root", options.root,
                   "Machine whose /proc and /sys are copied in a folder, instead of this one")
        ->type_name("FOLDER");
    app.add_flag("--json", options.as_json, "JSON output, also for --from");
    app.add_option("--svg", options.svg, "SVG file for a picture")->type_name("FILE");
    app.add_option("--dot", options.dot, "Graphviz file for a graph")->type_name("FILE");
    app.add_option("--nccl-xml", options.nccl_xml, "XML file for NCCL_TOPO_FILE")
        ->type_name("FILE");
    add_route_options(app, options.routes);
    add_rendezvous(OptionGroup(app, "Ranks"));
    if (parse_or_help(app, arguments)) return Exit::ok;

    if (const auto machine = described_machine(options)) {
        if (launcher().rank == 0) show(*machine, options);
        if (is_this_host_as_a_tree(options))
            for (const auto& line : describe_gpus()) fmt::print("{}\n", line);
        return Exit::ok;
    }
    return run_ranks({}, [&](World& world) {
        const Machine machine = gather_machine(world);
        if (world.is_first()) show(machine, options);
        return Exit::ok;
    });
}

}  // namespace tutti
