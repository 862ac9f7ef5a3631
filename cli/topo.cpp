// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "cli/options.hpp"
#include "topology/detect.hpp"
#include "topology/draw.hpp"
#include "topology/machine.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

struct TopoOptions {
    bool as_json = false;
    fs::path root, dot, svg;
};

Machine machine_asked_for(const TopoOptions& options) {
    if (!options.root.empty()) return {.hosts = {detect_host_in(options.root)}, .network = {}};
    return {.hosts = {detect_host()}, .network = {}};
}

void write_file(const fs::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text << std::flush;
    if (!stream)
        throw Error(file.string() + ": cannot be written; give a file in a folder of yours");
}

}  // namespace

Exit run_topo(const Arguments& arguments) {
    TopoOptions options;
    CLI::App app{"The machine as a tree: packages, caches, cores, memory, PCIe, GPUs, NICs, links.",
                 "tutti topo"};
    app.add_flag("--json", options.as_json, "for programs");
    app.add_option("--root", options.root, "of a copy of another machine's /proc and /sys")
        ->type_name("FOLDER");
    app.add_option("--svg", options.svg, "write a picture")->type_name("FILE");
    app.add_option("--dot", options.dot, "write a graph for Graphviz")->type_name("FILE");
    if (parse_or_help(app, arguments)) return Exit::ok;

    const Machine machine = machine_asked_for(options);
    if (!options.svg.empty()) write_file(options.svg, to_svg(machine));
    if (!options.dot.empty()) write_file(options.dot, to_dot(machine));
    if (options.as_json)
        fmt::print("{}\n", to_json(machine.hosts.front()));
    else if (options.svg.empty() && options.dot.empty())
        fmt::print("{}", print_tree(machine));
    return Exit::ok;
}

}  // namespace tutti
