// SPDX-License-Identifier: Apache-2.0
// A machine as the drawer in scripts/plots needs it: the description with all numbers computed.
#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "base/json_writer.hpp"
#include "topology/draw/draw.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

// "1 to 1.2 GB/s each way, 20 to 30 us"; empty where nothing was measured.
std::string network_text(const Machine& machine) {
    if (machine.network.empty()) return "";
    const auto [slow, fast] =
        std::ranges::minmax(machine.network, {}, &NetworkLink::bandwidth_GBps);
    const auto [near, far] = std::ranges::minmax(machine.network, {}, &NetworkLink::microseconds);
    const auto range = [](double low, double high) {
        const std::string a = fmt::format("{:.3g}", low), b = fmt::format("{:.3g}", high);
        return a == b ? a : a + " to " + b;
    };
    return fmt::format(": {} GB/s each way, {} us", range(slow.bandwidth_GBps, fast.bandwidth_GBps),
                       range(near.microseconds, far.microseconds));
}

// 0 for a link of unknown speed.
double GBps_of(PcieLink link) { return link == PcieLink{} ? 0 : pcie_GBps(link); }

// "18 links from GPU0-GPU6; none from GPU7"; empty where all GPUs have the same.
std::string unequal_links(const LinkSummary& links, const std::vector<AlikeGpus>& groups,
                          const std::vector<std::string>& labels) {
    if (groups.size() == 1 && links.without.empty()) return "";
    std::string text;
    for (const auto& [sum, gpus] : groups)
        text += fmt::format("{}{} link{} from {}", text.empty() ? "" : "; ", sum.count,
                            sum.count == 1 ? "" : "s", in_spans(gpus, labels));
    if (!links.without.empty()) text += "; none from " + in_spans(links.without, labels);
    return text;
}

std::string nvswitch_text(const LinkSummary& links, const std::vector<AlikeGpus>& groups) {
    const std::size_t count = links.nvswitches.size();
    std::string text = count > 1 ? fmt::format("{} NVSwitches", count) : "NVSwitch";
    if (groups.size() == 1 && links.without.empty())
        text += fmt::format(", {} links from each GPU, {} GB/s each way", groups[0].sum.count,
                            in_GBps(groups[0].sum.bandwidth_GBps));
    return text;
}

Json links_of(const Host& host, const std::vector<std::string>& labels) {
    const LinkSummary links = summary_of_links(host);
    const std::vector<AlikeGpus> groups = alike_at_switches(links);
    Json pairs = Json::array(), to_switches = Json::array(), to_nodes = Json::array();
    for (const auto& [pair, sum] : links.pairs)
        pairs.push_back({{"gpus", Json::array({pair.first, pair.second})},
                         {"count", sum.count},
                         {"GBps", sum.bandwidth_GBps}});
    for (const auto& [gpu, sum] : links.to_switches)
        to_switches.push_back({{"gpu", gpu}, {"count", sum.count}, {"GBps", sum.bandwidth_GBps}});
    for (const auto& [ends, sum] : links.to_nodes)
        to_nodes.push_back(
            {{"gpu", ends.first}, {"node", ends.second}, {"GBps", sum.bandwidth_GBps}});
    return {{"names", names_of(links.kinds)},
            {"pairs", pairs},
            {"to_switches", to_switches},
            {"to_nodes", to_nodes},
            {"without", links.without},
            {"nvswitches", nvswitch_text(links, groups)},
            {"unequal", groups.empty() ? "" : unequal_links(links, groups, labels)}};
}

Json kind_of_host(const Machine& machine, const std::vector<int>& alike) {
    const Host& host = at(machine.hosts, alike.front());
    const std::vector<std::string> labels = device_labels(host);
    Json pcie = Json::array(), switches = Json::array(), is_virtual = Json::array();
    for (const Device& device : host.devices) {
        pcie.push_back(GBps_of(device.link));
        is_virtual.push_back(device.model == virtual_interface);
    }
    for (const PcieSwitch& pcie_switch : host.pcie_switches)
        switches.push_back(GBps_of(pcie_switch.link));
    return {{"hosts", alike},
            {"title", names_of_alike(machine, alike)},
            {"labels", labels},
            {"pcie_GBps", pcie},
            {"switch_GBps", switches},
            {"is_virtual", is_virtual},
            {"socket_GBps", host.cpu == CpuIdentity{} ? 0 : socket_GBps(host.cpu)},
            {"links", links_of(host, labels)}};
}

}  // namespace

std::string to_picture_json(const Machine& machine) {
    Json kinds = Json::array();
    for (const std::vector<int>& alike : alike_hosts(machine))
        kinds.push_back(kind_of_host(machine, alike));
    std::string network =
        machine.hosts.size() > 1
            ? fmt::format("network of {} hosts{}", machine.hosts.size(), network_text(machine))
            : "";
    if (const std::string fabrics = fabrics_text(machine); !fabrics.empty())
        network += "; " + fabrics.substr(0, fabrics.find('\n'));
    return fmt::format("{{\"machine\":{},\"kinds\":{},\"network\":{}}}", to_json(machine),
                       one_line(kinds), one_line(network));
}

}  // namespace tutti
