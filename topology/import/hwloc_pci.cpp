// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/index.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/import/hwloc_parts.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

// The attribute pci_type, "0604 [10b5:9781] [10b5:9781] b0": class, device, subsystem, revision.
struct PciType {
    int pci_class = 0;
    int vendor = 0;
    std::string id;
    std::string subsystem_id;
};

std::string inside_brackets(std::string_view word) {
    return word.starts_with('[') && word.ends_with(']') && word.size() == 11
               ? std::string(word.substr(1, 9))
               : "";
}

PciType pci_type_of(const XmlElement& object, const Source& source) {
    const std::string& text = required(object, "pci_type", source);
    const auto words = words_of(text);
    PciType type;
    if (words.size() >= 3) {
        type.id = inside_brackets(words[1]);
        type.subsystem_id = inside_brackets(words[2]);
        const auto pci_class = hexadecimal_number(words[0]);
        const auto vendor = hexadecimal_number(type.id.substr(0, type.id.find(':')));
        if (pci_class && *pci_class <= 0xffff && vendor && *vendor <= 0xffff) {
            type.pci_class = static_cast<int>(*pci_class);
            type.vendor = static_cast<int>(*vendor);
            return type;
        }
    }
    source.fail(object.line,
                fmt::format("pci_type={} is not like \"0302 [10de:2330] [10de:16c1] a1\"",
                            in_quotes(text)));
}

std::string address_of(const XmlElement& object, const Source& source) {
    const std::string& text = required(object, "pci_busid", source);
    const auto address = pci_address(text);
    if (!address)
        source.fail(object.line, fmt::format("pci_busid={} is not a PCI address", in_quotes(text)));
    return *address;
}

// Finds generation and lanes of a link by hwloc's 10^9 bytes per second of all lanes, without
// encoding. Several generations may match, with different lanes; the oldest is returned, as all are
// equally fast.
PcieLink link_that_carries(double bandwidth_GBps) {
    const auto lane_GBps = [](double gigatransfers) {
        const double encoding = gigatransfers <= 5 ? 8 / 10. : 128 / 130.;
        return gigatransfers * encoding / 8;
    };
    for (const double gigatransfers : {2.5, 5., 8., 16., 32., 64.})
        for (const int lanes : {1, 2, 4, 8, 12, 16}) {
            const double ratio = bandwidth_GBps / (lane_GBps(gigatransfers) * lanes);
            if (ratio > 0.99 && ratio < 1.01) return {gigatransfers, lanes};
        }
    return {};
}

PcieLink link_of(const XmlElement& object, HwlocHost& into, const Source& source) {
    const std::string text = object.value("pci_link_speed");
    if (text.empty()) return {};
    const auto bandwidth_GBps = real_number(text);
    if (!bandwidth_GBps || *bandwidth_GBps < 0)
        source.fail(object.line,
                    fmt::format("pci_link_speed={} is not a speed in GB/s", in_quotes(text)));
    const PcieLink link = link_that_carries(*bandwidth_GBps);
    into.speeds_are_current = into.speeds_are_current || link.lanes > 0;
    return link;
}

enum class NicInterface { none, network, openfabrics };

// osdev_type= is a number in the XML of hwloc 1 and 2, a bit set in that of hwloc 3.
NicInterface nic_interface(const XmlElement& osdev, int format, const Source& source) {
    constexpr int network = 2, openfabrics = 3;
    constexpr int network_bit = 1 << 4, openfabrics_bit = 1 << 5;
    const auto type = whole(osdev, "osdev_type", 0, source);
    if (format >= 3 ? (type & openfabrics_bit) != 0 : type == openfabrics)
        return NicInterface::openfabrics;
    if (format >= 3 ? (type & network_bit) != 0 : type == network) return NicInterface::network;
    return NicInterface::none;
}

// An InfiniBand device may have several ports; hwloc writes the state of each.
std::vector<Port> openfabrics_ports(const XmlElement& osdev) {
    const std::string name = osdev.value("name");
    std::vector<Port> ports{{.name = name}};
    constexpr int most = 8;
    for (int number = 2; number <= most; ++number)
        if (!hwloc_info(osdev, fmt::format("Port{}State", number)).empty())
            ports.push_back({.name = fmt::format("{}:{}", name, number)});
    return ports;
}

void read_nic_interface(const XmlElement& osdev, int format, Device& device, const Source& source) {
    const NicInterface interface = nic_interface(osdev, format, source);
    if (interface == NicInterface::none) return;
    device.names.push_back(required(osdev, "name", source));
    if (interface == NicInterface::openfabrics)
        for (const Port& port : openfabrics_ports(osdev)) device.ports.push_back(port);
}

// Names a GPU by its management and compute interfaces, not by card0 or renderD128.
void read_gpu_interface(const XmlElement& osdev, Device& device, const Source& source) {
    const std::string& name = required(osdev, "name", source);
    for (const std::string_view interface : {"nvml", "cuda", "rsmi", "opencl", "ze"})
        if (name.starts_with(interface)) device.names.push_back(name);
    if (device.model.empty()) device.model = hwloc_info(osdev, "GPUModel");
}

void read_device(const XmlElement& object, const PciePlace& place, HwlocHost& into,
                 const Source& source) {
    const PciType type = pci_type_of(object, source);
    // The class of an NVSwitch that the driver has switched off is 0.
    const auto kind = object.value("subtype") == "NVSwitch"
                          ? std::optional(DeviceKind::nvswitch)
                          : device_kind(type.pci_class, type.vendor);
    if (!kind && is_accelerator(type.pci_class))
        into.other_accelerators.push_back({address_of(object, source), type.id});
    if (!kind) return;
    Device device{.kind = *kind,
                  .pci_address = address_of(object, source),
                  .pci_id = type.vendor == 0 ? "" : type.id,
                  .numa_node = place.numa_node,
                  .above = place.above,
                  .link = link_of(object, into, source),
                  .compute_capability = compute_capability_of(type.id)};
    const LinkEnd end{LinkEnd::Kind::device, int_size(into.host.devices)};
    const auto name_it = [&](const XmlElement& named) {
        if (named.find("gp_index"))
            into.named[{named.value("type"), whole(named, "gp_index", 0, source)}] = end;
    };
    name_it(object);
    for (const XmlElement& osdev : object.children) {
        if (osdev.value("type") != "OSDev") continue;
        name_it(osdev);
        if (*kind == DeviceKind::nic) read_nic_interface(osdev, into.format, device, source);
        if (*kind == DeviceKind::gpu) read_gpu_interface(osdev, device, source);
    }
    if (device.model.empty()) device.model = hwloc_info(object, "PCIDevice");
    if (*kind == DeviceKind::nic && device.ports.empty())
        for (const std::string& name : device.names) device.ports.push_back({.name = name});
    into.host.devices.push_back(std::move(device));
}

// Below a host bridge, root or downstream ports alternate with upstream ports of switches.
void read_below(const XmlElement& object, const PciePlace& place, int bridges, HwlocHost& into,
                const Source& source) {
    const std::string type = object.value("type");
    if (type == "PCIDev") read_device(object, place, into, source);
    if (type != "Bridge") return;
    const bool is_host_bridge = object.value("bridge_type").starts_with("0-");
    PciePlace inside = place;
    if (!is_host_bridge && bridges % 2 == 1) {
        const PciType pci = pci_type_of(object, source);
        inside.above = int_size(into.host.pcie_switches);
        into.host.pcie_switches.push_back({.pci_address = address_of(object, source),
                                           .pci_id = pci.id,
                                           .above = place.above,
                                           .numa_node = place.numa_node,
                                           .link = link_of(object, into, source),
                                           .subsystem_id = pci.subsystem_id});
    }
    for (const XmlElement& child : object.children)
        read_below(child, inside, is_host_bridge ? 0 : bridges + 1, into, source);
}

}  // namespace

void read_hwloc_pci(const XmlElement& object, const PciePlace& place, HwlocHost& into,
                    const Source& source) {
    read_below(object, place, 0, into, source);
}

}  // namespace tutti
