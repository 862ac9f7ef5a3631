// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "topology/machine/machine.hpp"

namespace tutti {

/// Each part of a machine tells a visitor its fields by name: `visit("model", package.model)`. The
/// JSON writer and reader are two visitors, so that what one writes the other knows.

template <class Visitor>
void visit_fields(Visitor& visit, Core& core) {
    visit("threads", core.threads);
}

template <class Visitor>
void visit_fields(Visitor& visit, Package& package) {
    visit("model", package.model);
    visit("cores", package.cores);
}

template <class Visitor>
void visit_fields(Visitor& visit, NumaNode& node) {
    visit("os_index", node.os_index);
    visit("memory_bytes", node.memory.count);
    visit("cores", node.cores);
}

template <class Visitor>
void visit_fields(Visitor& visit, Cache& cache) {
    visit("level", cache.level);
    visit("kind", cache.kind);
    visit("bytes", cache.size.count);
    visit("cores", cache.cores);
}

template <class Visitor>
void visit_fields(Visitor& visit, PcieLink& link) {
    visit("GTps", link.gigatransfers);
    visit("lanes", link.lanes);
}

template <class Visitor>
void visit_fields(Visitor& visit, PcieSwitch& pcie_switch) {
    visit("pci_address", pcie_switch.pci_address);
    visit("pci_id", pcie_switch.pci_id);
    visit("subsystem_id", pcie_switch.subsystem_id);
    visit("above", pcie_switch.above);
    visit("numa_node", pcie_switch.numa_node);
    visit("link", pcie_switch.link);
}

template <class Visitor>
void visit_fields(Visitor& visit, Port& port) {
    visit("name", port.name);
    visit("Gbitps", port.gigabits);
}

template <class Visitor>
void visit_fields(Visitor& visit, Device& device) {
    visit("kind", device.kind);
    visit("pci_address", device.pci_address);
    visit("pci_id", device.pci_id);
    visit("names", device.names);
    visit("numa_node", device.numa_node);
    visit("above", device.above);
    visit("link", device.link);
    visit("model", device.model);
    visit("compute_capability", device.compute_capability);
    visit("ports", device.ports);
}

template <class Visitor>
void visit_fields(Visitor& visit, LinkEnd& end) {
    visit("kind", end.kind);
    visit("index", end.index);
}

template <class Visitor>
void visit_fields(Visitor& visit, Link& link) {
    visit("kind", link.kind);
    visit("a", link.a);
    visit("b", link.b);
    visit("count", link.count);
    visit("GBps", link.bandwidth_GBps);
    visit("us", link.microseconds);
}

template <class Visitor>
void visit_fields(Visitor& visit, CpuIdentity& cpu) {
    visit("architecture", cpu.architecture);
    visit("vendor", cpu.vendor);
    visit("family", cpu.family);
    visit("model", cpu.model);
}

template <class Visitor>
void visit_fields(Visitor& visit, NoPeerAccess& pair) {
    visit("a", pair.a);
    visit("b", pair.b);
}

template <class Visitor>
void visit_fields(Visitor& visit, Host& host) {
    visit("name", host.name);
    visit("cpu", host.cpu);
    visit("packages", host.packages);
    visit("numa_nodes", host.numa_nodes);
    visit("cores", host.cores);
    visit("caches", host.caches);
    visit("pcie_switches", host.pcie_switches);
    visit("devices", host.devices);
    visit("links", host.links);
    visit("no_peer_access", host.no_peer_access);
    visit("transports", host.transports);
    visit("not_seen", host.not_seen);
}

template <class Visitor>
void visit_fields(Visitor& visit, NetworkLink& link) {
    visit("from", link.from);
    visit("to", link.to);
    visit("GBps", link.bandwidth_GBps);
    visit("us", link.microseconds);
}

template <class Visitor>
void visit_fields(Visitor& visit, Machine& machine) {
    visit("hosts", machine.hosts);
    visit("network", machine.network);
}

/// The words for choices, in files.
template <class Choice>
struct Word {
    Choice choice;
    const char* word;
};
template <class Choice>
inline constexpr Word<Choice> words_for[1] = {};

template <>
inline constexpr Word<CacheKind> words_for<CacheKind>[] = {{CacheKind::unified, "unified"},
                                                           {CacheKind::data, "data"},
                                                           {CacheKind::instruction, "instruction"}};
template <>
inline constexpr Word<DeviceKind> words_for<DeviceKind>[] = {
    {DeviceKind::gpu, "GPU"}, {DeviceKind::nic, "NIC"}, {DeviceKind::nvswitch, "NVSwitch"}};
template <>
inline constexpr Word<LinkKind> words_for<LinkKind>[] = {
    {LinkKind::nvlink, "NVLink"}, {LinkKind::xgmi, "xGMI"}, {LinkKind::c2c, "C2C"}};
template <>
inline constexpr Word<LinkEnd::Kind> words_for<LinkEnd::Kind>[] = {
    {LinkEnd::Kind::device, "device"}, {LinkEnd::Kind::numa_node, "NUMA node"}};

}  // namespace tutti
