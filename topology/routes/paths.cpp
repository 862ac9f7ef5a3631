// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/index.hpp"
#include "base/rounding.hpp"

namespace tutti {
namespace {

const GraphNode& node_at(const HostGraph& graph, int node) { return at(graph.nodes, node); }

const GraphEdge& edge_at(const HostGraph& graph, int edge) { return at(graph.edges, edge); }

bool is_gpu(const HostGraph& graph, int node) {
    return node_at(graph, node).kind == GraphNodeKind::gpu;
}

bool joins_gpus_directly(EdgeKind kind) {
    return kind == EdgeKind::nvlink || kind == EdgeKind::xgmi;
}

bool is_pcie_or_port(EdgeKind kind) {
    return kind == EdgeKind::pcie || kind == EdgeKind::sockets || kind == EdgeKind::port;
}

bool is_any(EdgeKind) { return true; }

PathType type_of_edge(const HostGraph& graph, const GraphEdge& edge) {
    const auto touches = [&](GraphNodeKind kind) {
        return node_at(graph, edge.from).kind == kind || node_at(graph, edge.to).kind == kind;
    };
    switch (edge.kind) {
        case EdgeKind::nvlink:
        case EdgeKind::xgmi:
            return PathType::nvl;
        case EdgeKind::c2c:
            return PathType::c2c;
        case EdgeKind::sockets:
            return PathType::sys;
        case EdgeKind::port:
            return PathType::loc;
        case EdgeKind::pcie:
            break;
    }
    if (touches(GraphNodeKind::cpu)) return PathType::phb;
    const bool between_switches = node_at(graph, edge.from).kind == GraphNodeKind::pcie_switch &&
                                  node_at(graph, edge.to).kind == GraphNodeKind::pcie_switch;
    return between_switches ? PathType::pxb : PathType::pix;
}

PathType type_of_path(const HostGraph& graph, const std::vector<int>& edges) {
    PathType worst = PathType::loc;
    bool by_c2c = false;
    bool by_pcie = false;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const GraphEdge& edge = edge_at(graph, edges[i]);
        worst = std::max(worst, type_of_edge(graph, edge));
        if (i > 0 && is_gpu(graph, edge.from)) worst = std::max(worst, PathType::nvb);
        by_c2c |= edge.kind == EdgeKind::c2c;
        by_pcie |= edge.kind == EdgeKind::pcie;
    }
    const bool c2c_then_pcie = worst == PathType::phb && by_c2c && by_pcie;
    return c2c_then_pcie ? PathType::p2c : worst;
}

// A GPU forwards only data that came by one direct hop and leaves by one direct hop to another GPU.
bool may_leave(const HostGraph& graph, const Path& path, int node, const GraphEdge& edge) {
    if (path.edges.empty() || !is_gpu(graph, node)) return true;
    return path.hops() == 1 && joins_gpus_directly(edge.kind) && is_gpu(graph, edge.to) &&
           joins_gpus_directly(edge_at(graph, path.edges.front()).kind);
}

// Searches breadth first, so the paths of a level are final before the next level uses them.
std::vector<Path> paths_from(const HostGraph& graph, int source, bool (*allowed)(EdgeKind)) {
    std::vector<Path> path(graph.nodes.size());
    at(path, source) = {PathType::loc, local_GBps, {}};
    for (std::vector<int> level{source}; !level.empty();) {
        std::vector<int> next_level;
        for (const int node : level) {
            const Path here = at(path, node);
            for (const int e : at(graph.out, node)) {
                const GraphEdge& edge = edge_at(graph, e);
                if (!allowed(edge.kind) || !may_leave(graph, here, node, edge)) continue;
                Path& there = at(path, edge.to);
                const double bandwidth_GBps = std::min(here.bandwidth_GBps, edge.bandwidth_GBps);
                const bool is_new = there.bandwidth_GBps <= 0;
                if (!is_new &&
                    (there.hops() <= here.hops() || there.bandwidth_GBps >= bandwidth_GBps))
                    continue;
                there.bandwidth_GBps = bandwidth_GBps;
                there.edges = here.edges;
                there.edges.push_back(e);
                if (is_new) next_level.push_back(edge.to);
            }
        }
        level = std::move(next_level);
    }
    for (Path& found : path)
        if (found.bandwidth_GBps > 0) found.type = type_of_path(graph, found.edges);
    return path;
}

// Replaces paths to a port by NVLink to a GPU near the port if that is wider or avoids a CPU.
void relay_over_peers(const HostGraph& graph, PathTable& table) {
    const PathTable direct = table;
    const auto path = [&](int from, int to) -> const Path& { return at(at(direct, from), to); };
    const auto replace = [&](int from, int via, int to) {
        Path& longer = at(at(table, from), to);
        longer = path(from, via);
        longer.type = PathType::pxn;
        longer.bandwidth_GBps = std::min(longer.bandwidth_GBps, path(via, to).bandwidth_GBps);
        const auto& rest = path(via, to).edges;
        longer.edges.insert(longer.edges.end(), rest.begin(), rest.end());
    };
    for (const int port : graph.ports)
        for (const int gpu : graph.gpus)
            for (const int peer : graph.gpus) {
                const Path& near = path(peer, port);
                const bool is_near = near.type <= PathType::pxb || near.type == PathType::p2c;
                const bool better = near.bandwidth_GBps > path(gpu, port).bandwidth_GBps ||
                                    path(gpu, port).type > PathType::pxn;
                if (peer == gpu || !is_near || path(gpu, peer).type > PathType::nvl || !better)
                    continue;
                replace(gpu, peer, port);
                break;
            }
}

}  // namespace

std::string short_name(PathType type) {
    constexpr std::array names{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                               "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
    return at(names, type);
}

PathTable paths_of(const HostGraph& graph) {
    PathTable table;
    for (std::size_t node = 0; node < graph.nodes.size(); ++node)
        table.push_back(paths_from(graph, static_cast<int>(node), is_any));
    relay_over_peers(graph, table);
    return table;
}

std::string smi_word(const HostGraph& graph, int from, int to) {
    if (from == to) return "X";
    if (is_gpu(graph, from) && is_gpu(graph, to)) {
        const auto links = paths_from(graph, from, joins_gpus_directly);
        const Path& path = at(links, to);
        if (path.type == PathType::nvl) {
            int count = edge_at(graph, path.edges.front()).count;
            for (const int e : path.edges) {
                const GraphEdge& edge = edge_at(graph, e);
                if (node_at(graph, edge.to).kind == GraphNodeKind::cpu) count = 0;  // POWER
                count = std::min(count, edge.count);
            }
            if (edge_at(graph, path.edges.front()).kind == EdgeKind::xgmi) return "XGMI";
            if (count > 0) return fmt::format("NV{}", count);
        }
    }
    const auto by_pcie = paths_from(graph, from, is_pcie_or_port);
    const PathType type = at(by_pcie, to).type;
    return short_name(type == PathType::loc ? PathType::pix : type);  // two ports of one NIC
}

namespace {

std::vector<int> shown_nodes(const HostGraph& graph) {
    std::vector<int> nodes = graph.gpus;
    nodes.insert(nodes.end(), graph.ports.begin(), graph.ports.end());
    return nodes;
}

using Cell = std::function<std::string(int from, int to)>;

std::string matrix(const HostGraph& graph, const std::vector<int>& nodes, const Cell& cell) {
    std::vector<std::vector<std::string>> rows(1, {""});
    for (const int node : nodes) rows.front().push_back(at(graph.nodes, node).name);
    for (const int from : nodes) {
        rows.push_back({at(graph.nodes, from).name});
        for (const int to : nodes) rows.back().push_back(cell(from, to));
    }
    std::size_t width = 0;
    for (const auto& row : rows)
        for (const std::string& text : row) width = std::max(width, text.size() + 2);
    std::string page;
    for (const auto& row : rows) {
        std::string line;
        for (const std::string& text : row) line += fmt::format("{:<{}}", text, width);
        page += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return page;
}

}  // namespace

std::string print_paths(const HostGraph& graph) {
    const std::vector<int> nodes = shown_nodes(graph);
    if (nodes.empty()) return "no GPU and no NIC: there are no paths\n";
    const PathTable paths = paths_of(graph);
    std::string page = "NCCL's path types, with GB/s in one direction\n\n";
    page += matrix(graph, nodes, [&](int from, int to) -> std::string {
        if (from == to) return "X";
        const Path& path = at(at(paths, from), to);
        if (path.type == PathType::dis) return short_name(path.type);
        return fmt::format("{} {:g}", short_name(path.type), to_tenths(path.bandwidth_GBps));
    });
    page += "\nas in nvidia-smi topo -m (with PHB for NODE, as host bridges are unknown)\n\n";
    page += matrix(graph, nodes, [&](int from, int to) { return smi_word(graph, from, to); });
    page +=
        "\nNVL  NVLink or xGMI             NVB  NVLink through one more GPU  C2C  chip to chip\n"
        "PIX  one PCIe switch*           PXB  several PCIe switches        PHB  through a CPU\n"
        "P2C  C2C, then PCIe             PXN  NVLink to a GPU near the NIC SYS  between sockets\n"
        "DIS  no path                   * the two levels of a Broadcom switch are one, as in NCCL\n"
        "a NIC port of unknown speed counts as 10 Gbit/s\n";
    return page;
}

namespace {

nlohmann::ordered_json to_json(const HostGraph& graph) {
    const PathTable paths = paths_of(graph);
    nlohmann::ordered_json json{{"nodes", nlohmann::json::array()},
                                {"type", nlohmann::json::array()},
                                {"GBps", nlohmann::json::array()},
                                {"hops", nlohmann::json::array()},
                                {"smi", nlohmann::json::array()}};
    for (const int from : shown_nodes(graph)) {
        nlohmann::ordered_json types, speeds, hops, words;
        for (const int to : shown_nodes(graph)) {
            const Path& path = at(at(paths, from), to);
            types.push_back(short_name(path.type));
            speeds.push_back(path.bandwidth_GBps);
            hops.push_back(path.hops());
            words.push_back(smi_word(graph, from, to));
        }
        json["nodes"].push_back(at(graph.nodes, from).name);
        json["type"].push_back(types);
        json["GBps"].push_back(speeds);
        json["hops"].push_back(hops);
        json["smi"].push_back(words);
    }
    return json;
}

}  // namespace

std::string paths_to_json(const Machine& machine) {
    if (machine.hosts.size() == 1) return to_json(graph_of(machine.hosts.front())).dump(2);
    nlohmann::ordered_json hosts = nlohmann::json::array();
    for (const Host& host : machine.hosts) {
        nlohmann::ordered_json one{{"name", host.name}};
        one.update(to_json(graph_of(host)));
        hosts.push_back(one);
    }
    nlohmann::ordered_json json{{"hosts", hosts}};
    if (!shared_fabric(machine).empty()) json["fabric"] = to_json(graph_of_fabric(machine.hosts));
    return json.dump(2);
}

}  // namespace tutti
