// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json_value.hpp"
#include "base/name_table.hpp"
#include "topology/machine/machine.hpp"

// The JSON fields of each part of a machine (see Is). All are written; fields missing from a file
// are unknown.
namespace tutti {

void walk(auto& f, Is<Core> auto& core) { f.always("threads", core.threads); }

void walk(auto& f, Is<Package> auto& package) {
    f.always("model", package.model);
    f.always("cores", package.cores);
}

void walk(auto& f, Is<NumaNode> auto& node) {
    f.always("os_index", node.os_index);
    f.always("memory_bytes", node.memory);
    f.always("cores", node.cores);
    f.may("kind", node.kind);
}

void walk(auto& f, Is<Cache> auto& cache) {
    f.always("level", cache.level);
    f.always("kind", cache.kind);
    f.always("bytes", cache.size);
    f.always("cores", cache.cores);
}

void walk(auto& f, Is<PcieLink> auto& link) {
    f.always("GTps", link.gigatransfers);
    f.always("lanes", link.lanes);
}

void walk(auto& f, Is<PcieSwitch> auto& pcie_switch) {
    f.always("pci_address", pcie_switch.pci_address);
    f.always("pci_id", pcie_switch.pci_id);
    f.always("subsystem_id", pcie_switch.subsystem_id);
    f.always("above", pcie_switch.above);
    f.always("numa_node", pcie_switch.numa_node);
    f.always("link", pcie_switch.link);
}

void walk(auto& f, Is<SwitchLink> auto& link) {
    f.always("a", link.a);
    f.always("b", link.b);
}

void walk(auto& f, Is<Port> auto& port) {
    f.always("name", port.name);
    f.always("Gbitps", port.gigabits);
    f.may("for_collectives", port.for_collectives, true);
}

void walk(auto& f, Is<Device> auto& device) {
    f.always("kind", device.kind);
    f.always("pci_address", device.pci_address);
    f.always("pci_id", device.pci_id);
    f.always("names", device.names);
    f.always("numa_node", device.numa_node);
    f.always("above", device.above);
    f.always("link", device.link);
    f.always("model", device.model);
    f.always("compute_capability", device.compute_capability);
    f.always("ports", device.ports);
}

void walk(auto& f, Is<LinkEnd> auto& end) {
    f.always("kind", end.kind);
    f.always("index", end.index);
}

void walk(auto& f, Is<Link> auto& link) {
    f.always("kind", link.kind);
    f.always("a", link.a);
    f.always("b", link.b);
    f.always("count", link.count);
    f.always("GBps", link.bandwidth_GBps);
    f.always("us", link.microseconds);
}

void walk(auto& f, Is<CpuIdentity> auto& cpu) {
    f.always("architecture", cpu.architecture);
    f.always("vendor", cpu.vendor);
    f.always("family", cpu.family);
    f.always("model", cpu.model);
}

void walk(auto& f, Is<NoPeerAccess> auto& pair) {
    f.always("a", pair.a);
    f.always("b", pair.b);
}

void walk(auto& f, Is<Host> auto& host) {
    f.always("name", host.name);
    f.always("cpu", host.cpu);
    f.always("packages", host.packages);
    f.always("numa_nodes", host.numa_nodes);
    f.always("cores", host.cores);
    f.always("caches", host.caches);
    f.always("pcie_switches", host.pcie_switches);
    f.may("switch_links", host.switch_links);
    f.always("devices", host.devices);
    f.always("links", host.links);
    f.may("nvlink_fabric", host.nvlink_fabric);
    f.always("no_peer_access", host.no_peer_access);
    f.always("transports", host.transports);
    f.always("not_seen", host.not_seen);
}

void walk(auto& f, Is<NetworkLink> auto& link) {
    f.always("from", link.from);
    f.always("to", link.to);
    f.always("GBps", link.bandwidth_GBps);
    f.always("us", link.microseconds);
}

void walk(auto& f, Is<Machine> auto& machine) {
    f.always("hosts", machine.hosts);
    f.always("network", machine.network);
}

template <>
struct NamesOf<CacheKind> {
    static constexpr std::string_view kind = "kind of cache";
    static constexpr Named<CacheKind> rows[] = {{CacheKind::unified, "unified"},
                                                {CacheKind::data, "data"},
                                                {CacheKind::instruction, "instruction"},
                                                {CacheKind::memory_side, "memory-side"}};
};
template <>
struct NamesOf<DeviceKind> {
    static constexpr std::string_view kind = "kind of device";
    static constexpr Named<DeviceKind> rows[] = {
        {DeviceKind::gpu, "GPU"}, {DeviceKind::nic, "NIC"}, {DeviceKind::nvswitch, "NVSwitch"}};
};
template <>
struct NamesOf<LinkKind> {
    static constexpr std::string_view kind = "kind of link";
    static constexpr Named<LinkKind> rows[] = {
        {LinkKind::nvlink, "NVLink"}, {LinkKind::xgmi, "xGMI"}, {LinkKind::c2c, "C2C"}};
};
template <>
struct NamesOf<LinkEnd::Kind> {
    static constexpr std::string_view kind = "end of a link";
    static constexpr Named<LinkEnd::Kind> rows[] = {{LinkEnd::Kind::device, "device"},
                                                    {LinkEnd::Kind::numa_node, "NUMA node"}};
};

}  // namespace tutti
