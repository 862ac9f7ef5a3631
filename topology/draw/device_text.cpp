// SPDX-License-Identifier: Apache-2.0
#include "topology/draw/device_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "base/index.hpp"
#include "topology/draw/draw.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

using Labels = std::vector<std::string>;

const std::string& label(const Labels& labels, int device) { return labels.at(as_size(device)); }

std::string matrix(const LinkSummary& links, const Labels& labels) {
    std::vector<int> gpus = links.gpus;
    gpus.insert(gpus.end(), links.without.begin(), links.without.end());
    std::ranges::sort(gpus);
    std::size_t width = 0;
    for (const int gpu : gpus) width = std::max(width, label(labels, gpu).size());
    for (const auto& [pair, sum] : links.pairs)
        width = std::max(width, in_GBps(sum.bandwidth_GBps).size());
    std::string page =
        fmt::format("{} between GPUs, GB/s each way\n{:{}}", names_of(links.kinds), "", width + 2);
    for (const int gpu : gpus) page += fmt::format("  {:>{}}", label(labels, gpu), width);
    page += "\n";
    for (const int row : gpus) {
        page += fmt::format("  {:<{}}", label(labels, row), width);
        for (const int column : gpus) {
            const auto found = links.pairs.find(std::minmax(row, column));
            page +=
                fmt::format("  {:>{}}",
                            row == column                ? "-"
                            : found == links.pairs.end() ? "."
                                                         : in_GBps(found->second.bandwidth_GBps),
                            width);
        }
        page += "\n";
    }
    return page;
}

std::string to_switches(const LinkSummary& links, const Labels& labels) {
    std::string page;
    for (const auto& [sum, gpus] : alike_at_switches(links))
        page += fmt::format("{} {} link{} to {} NVSwitch{}, {} GB/s each way{}\n",
                            in_spans(gpus, labels), sum.count, sum.count == 1 ? "" : "s",
                            links.nvswitches.size(), links.nvswitches.size() == 1 ? "" : "es",
                            in_GBps(sum.bandwidth_GBps), gpus.size() > 1 ? ", each of them" : "");
    return page;
}

}  // namespace

std::string text_of(PcieLink link) {
    if (link == PcieLink{}) return "";
    const std::string speed =
        link.gigatransfers > 0 ? fmt::format("{} GT/s ", link.gigatransfers) : "";
    const std::string width = link.lanes > 0 ? fmt::format("x{}, ", link.lanes) : "";
    return fmt::format("PCIe {}{}{} GB/s", speed, width, in_GBps(pcie_GBps(link)));
}

std::string ports_text(const Device& nic) {
    std::string text;
    for (const Port& port : nic.ports) {
        text += (text.empty() ? "" : ", ") + port.name;
        if (port.gigabits > 0) text += fmt::format(" {} Gb/s", port.gigabits);
        if (!port.for_collectives) text += " (not for collectives)";
    }
    for (const std::string& name : nic.names) {  // interfaces that share a port with RDMA
        const auto is_it = [&](const Port& port) {
            return port.name == name || port.name.starts_with(name + ":");
        };
        if (std::ranges::none_of(nic.ports, is_it)) text += (text.empty() ? "" : " ") + name;
    }
    return text;
}

std::string text_of(const Device& device) {
    std::string text = device.model.empty() ? device.pci_id : device.model;
    const auto add = [&](const std::string& part) {
        if (!part.empty()) text += (text.empty() ? "" : "  ") + part;
    };
    add(ports_text(device));
    add(text_of(device.link));
    return text;
}

std::string links_text(const Host& host) {
    const LinkSummary links = summary_of_links(host);
    const Labels labels = device_labels(host);
    std::string page;
    if (!links.pairs.empty()) page += matrix(links, labels);
    page += to_switches(links, labels);
    if (!links.without.empty())
        page += fmt::format("{} no {} to other GPUs, unlike the rest\n",
                            in_spans(links.without, labels), names_of(links.kinds));
    for (const auto& [ends, sum] : links.to_nodes)
        page += fmt::format("{} {} {} link{} to NUMA node {}, {} GB/s each way\n",
                            label(labels, ends.first), sum.count, short_name(sum.kind),
                            sum.count == 1 ? "" : "s", ends.second, in_GBps(sum.bandwidth_GBps));
    for (const SwitchLink& link : host.switch_links)
        page += fmt::format("PCIe switches {} and {} are linked directly\n",
                            at(host.pcie_switches, link.a).pci_address,
                            at(host.pcie_switches, link.b).pci_address);
    for (const NoPeerAccess& pair : host.no_peer_access)
        page += fmt::format("{} and {} cannot reach each other's memory\n", label(labels, pair.a),
                            label(labels, pair.b));
    return page;
}

// Vendors begin a line ("10de  NVIDIA Corporation"), devices follow after one tab, boards after
// two.
void name_products(Machine& machine, const std::filesystem::path& pci_ids) {
    std::multimap<std::string, Device*> unnamed;
    for (Host& host : machine.hosts)
        for (Device& device : host.devices)
            if (device.model.empty() && !device.pci_id.empty())
                unnamed.emplace(device.pci_id, &device);
    if (unnamed.empty()) return;
    constexpr std::size_t digits = 4;
    std::ifstream file(pci_ids);
    std::string vendor;
    for (std::string line; std::getline(file, line);) {
        const std::size_t name = line.find("  ");
        if (name == std::string::npos) continue;
        if (!line.starts_with('\t')) {
            vendor = line.substr(0, name);
        } else if (name == 1 + digits) {
            const auto [first, last] = unnamed.equal_range(vendor + ":" + line.substr(1, digits));
            for (auto found = first; found != last; ++found)
                found->second->model = line.substr(name + 2);
        }
    }
}

}  // namespace tutti
