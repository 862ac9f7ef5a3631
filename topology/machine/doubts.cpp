// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/index.hpp"

namespace tutti {
namespace {

// Limits with room for the next generations: ports have 800 Gb/s, PCIe 6 has 64 GT/s, NVLink 5 has
// 721.8 GB/s for all links of a GPU.
constexpr double most_gigabits = 3200;
constexpr double most_gigatransfers = 256;
constexpr int most_lanes = 32;
constexpr double most_link_GBps = 10000;

using NamesOfSpeed = std::map<std::string, std::vector<std::string>>;

std::string port_speed(double gigabits) {
    std::string text = fmt::format("{:g} Gb/s is more than any network port has", gigabits);
    if (gigabits / 1000 <= most_gigabits)
        text += fmt::format("; {:g} Gb/s may be meant", gigabits / 1000);
    return text;
}

NamesOfSpeed impossible_speeds(const Host& host) {
    NamesOfSpeed found;
    const std::vector<std::string> labels = device_labels(host);
    const auto check_pcie = [&](PcieLink link, const std::string& name) {
        if (link.gigatransfers > most_gigatransfers || link.lanes > most_lanes)
            found[fmt::format("{:g} GT/s x{} is more than any PCIe link has", link.gigatransfers,
                              link.lanes)]
                .push_back(name);
    };
    for (std::size_t i = 0; i < host.devices.size(); ++i) {
        for (const Port& port : host.devices[i].ports)
            if (port.gigabits > most_gigabits)
                found[port_speed(port.gigabits)].push_back(port.name.empty() ? labels[i]
                                                                             : port.name);
        check_pcie(host.devices[i].link, labels[i]);
    }
    for (const PcieSwitch& pcie_switch : host.pcie_switches)
        check_pcie(pcie_switch.link, "PCIe switch " + pcie_switch.pci_address);
    for (const Link& link : host.links)
        if (link.bandwidth_GBps > most_link_GBps && link.a.kind == LinkEnd::Kind::device)
            found[fmt::format("{:g} GB/s is more than any {} has", link.bandwidth_GBps,
                              short_name(link.kind))]
                .push_back("a link of " + at(labels, link.a.index));
    return found;
}

}  // namespace

void note_impossible_speeds(Host& host) {
    constexpr std::size_t enough = 8;
    for (auto& [speed, names] : impossible_speeds(host)) {
        if (names.size() > enough) {
            const std::size_t rest = names.size() - enough;
            names.resize(enough);
            names.push_back(fmt::format("{} more", rest));
        }
        const std::string note =
            fmt::format("the true speed of {}: {}", fmt::join(names, ", "), speed);
        if (std::ranges::find(host.not_seen, note) == host.not_seen.end())
            host.not_seen.push_back(note);
    }
}

}  // namespace tutti
