// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "topology/routes/paths.hpp"

namespace tutti {
namespace {

std::vector<int> shown_nodes(const HostGraph& graph) {
    std::vector<int> nodes = graph.gpus;
    nodes.insert(nodes.end(), graph.ports.begin(), graph.ports.end());
    return nodes;
}

using Cell = std::function<std::string(int from, int to)>;

std::string matrix(const HostGraph& graph, const std::vector<int>& nodes, const Cell& cell) {
    std::vector<std::vector<std::string>> rows(1, {""});
    for (const int node : nodes)
        rows.front().push_back(graph.nodes[static_cast<std::size_t>(node)].name);
    for (const int from : nodes) {
        rows.push_back({graph.nodes[static_cast<std::size_t>(from)].name});
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

std::string print_paths(const Host& host) {
    const HostGraph graph = graph_of(host);
    const std::vector<int> nodes = shown_nodes(graph);
    if (nodes.empty()) return "no GPU and no NIC, so no paths between them\n";
    const PathTable paths = paths_of(graph);
    std::string page = "path types as NCCL names them, with GB/s in one direction\n\n";
    page += matrix(graph, nodes, [&](int from, int to) -> std::string {
        if (from == to) return "X";
        const Path& path = paths[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        if (path.type == PathType::dis) return short_name(path.type);
        return fmt::format("{} {:g}", short_name(path.type),
                           std::round(path.bandwidth_GBps * 10) / 10);
    });
    page += "\nin the words of nvidia-smi topo -m (NODE needs host bridges: it reads PHB)\n\n";
    page += matrix(graph, nodes, [&](int from, int to) { return smi_word(graph, from, to); });
    page +=
        "\nNVL  NVLink or xGMI             NVB  NVLink through one more GPU  C2C  chip to chip\n"
        "PIX  one PCIe switch*           PXB  several PCIe switches        PHB  through a CPU\n"
        "P2C  C2C, then PCIe             PXN  NVLink to a GPU near the NIC SYS  between sockets\n"
        "DIS  no way                    * the two levels of a Broadcom switch are one, as in NCCL\n"
        "a NIC port of unknown speed counts as 10 Gbit/s\n";
    return page;
}

namespace {

nlohmann::ordered_json to_json(const Host& host) {
    const HostGraph graph = graph_of(host);
    const PathTable paths = paths_of(graph);
    nlohmann::ordered_json json{{"nodes", nlohmann::json::array()},
                                {"type", nlohmann::json::array()},
                                {"GBps", nlohmann::json::array()},
                                {"hops", nlohmann::json::array()},
                                {"smi", nlohmann::json::array()}};
    for (const int from : shown_nodes(graph)) {
        nlohmann::ordered_json types, speeds, hops, words;
        for (const int to : shown_nodes(graph)) {
            const Path& path = paths[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
            types.push_back(short_name(path.type));
            speeds.push_back(path.bandwidth_GBps);
            hops.push_back(path.hops());
            words.push_back(smi_word(graph, from, to));
        }
        json["nodes"].push_back(graph.nodes[static_cast<std::size_t>(from)].name);
        json["type"].push_back(types);
        json["GBps"].push_back(speeds);
        json["hops"].push_back(hops);
        json["smi"].push_back(words);
    }
    return json;
}

}  // namespace

std::string paths_to_json(const Machine& machine) {
    if (machine.hosts.size() == 1) return to_json(machine.hosts.front()).dump(2);
    nlohmann::ordered_json hosts = nlohmann::json::array();
    for (const Host& host : machine.hosts) {
        nlohmann::ordered_json one{{"name", host.name}};
        one.update(to_json(host));
        hosts.push_back(one);
    }
    return nlohmann::ordered_json{{"hosts", hosts}}.dump(2);
}

}  // namespace tutti
