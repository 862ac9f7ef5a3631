// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/index.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/hwloc_parts.hpp"
#include "topology/machine/core_of_cpu.hpp"
#include "topology/machine/numa_nodes.hpp"

namespace tutti {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

bool is_package(const std::string& type) { return type == "Package" || type == "Socket"; }
bool is_numa_node(const std::string& type) { return type == "NUMANode" || type == "Node"; }
bool is_cache(const std::string& type) { return type.ends_with("Cache"); }
bool is_pci(const std::string& type) { return type == "Bridge" || type == "PCIDev"; }

class StructureReader {
public:
    StructureReader(HwlocHost& into, const Source& source) : into_(into), source_(source) {}

    void read(const XmlElement& machine) {
        read_cores(machine, nullptr);
        if (into_.host.cores.empty())
            source_.fail(machine.line,
                         "the file has no processing unit (PU); use the complete file of lstopo");
        core_of_cpu_.emplace(into_.host.cores);
        Host& host = into_.host;
        read_numa_nodes(machine);
        give_each_core_one_node(host.numa_nodes);
        for (const NumaNode& node : host.numa_nodes)
            if (!node.cores.empty()) nodes_with_cores_.insert(node.os_index);
        read_objects(machine, {});
        if (host.numa_nodes.empty()) host.numa_nodes.push_back(all_memory_of(machine));
        if (host.packages.empty()) read_machine_as_package(machine);
    }

private:
    // Reads depth first, so cores that share a package or a cache are adjacent.
    void read_cores(const XmlElement& element, Core* around) {
        Host& host = into_.host;
        for (const XmlElement& object : element.children) {
            if (object.name != "object") continue;
            const std::string& type = required(object, "type", source_);
            if (type == "PU") {
                required(object, "os_index", source_);
                const auto cpu =
                    static_cast<int>(whole(object, "os_index", 0, source_, 0, most_cpus - 1));
                if (!cpus_.insert(cpu).second)
                    source_.fail(object.line, fmt::format("PU {} appears twice", cpu));
                if (around)
                    around->threads.push_back(cpu);
                else
                    host.cores.push_back({{cpu}});  // a machine without known cores
            } else if (type == "Core" && !around) {
                Core core;
                read_cores(object, &core);
                if (!core.threads.empty()) host.cores.push_back(core);
            } else {
                read_cores(object, around);
            }
        }
    }

    void read_numa_nodes(const XmlElement& element) {
        for (const XmlElement& object : element.children) {
            if (object.name != "object") continue;
            if (is_numa_node(required(object, "type", source_))) read_numa_node(object);
            read_numa_nodes(object);
        }
    }

    // Packages of several NUMA nodes are unknown without objects of them.
    void read_machine_as_package(const XmlElement& machine) {
        Host& host = into_.host;
        const std::string model = hwloc_info(machine, "CPUModel");
        if (nodes_with_cores_.size() < 2)
            host.packages.push_back({.model = model, .cores = all_cores()});
        else
            host.not_seen.push_back("the packages" + (model.empty() ? "" : " of " + model) +
                                    ": the file has no objects for them");
    }

    CoreSet all_cores() const {
        CoreSet all(into_.host.cores.size());
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    void read_objects(const XmlElement& element, PciePlace place) {
        for (const XmlElement& object : element.children) {
            if (object.name != "object") continue;
            const std::string& type = required(object, "type", source_);
            if (is_pci(type)) {
                read_hwloc_pci(object, place, into_, source_);
                continue;
            }
            if (is_package(type)) read_package(object);
            if (is_cache(type)) read_cache(object, type);
            read_objects(object, {.numa_node = numa_node_of(object, place.numa_node), .above = {}});
        }
    }

    CoreSet cores_of(const XmlElement& object) const {
        const auto cpus = cpus_of_mask(object.value("cpuset"), source_, object.line);
        if (!cpus) source_.fail(object.line, "cpuset= is infinite; use the CPUs of this machine");
        return core_of_cpu_->of(*cpus);
    }

    // Returns the NUMA nodes of an object without those of memory only, if there are others.
    std::vector<int> numa_nodes_of(const XmlElement& object) const {
        auto nodes = cpus_of_mask(object.value("nodeset"), source_, object.line);
        if (!nodes) return {};
        const auto has_cores = [&](int node) { return nodes_with_cores_.contains(node); };
        if (std::ranges::any_of(*nodes, has_cores))
            std::erase_if(*nodes,
                          [&](int node) { return nodes_.contains(node) && !has_cores(node); });
        return *nodes;
    }

    // Returns the single NUMA node of an object; none if it spans several.
    std::optional<int> numa_node_of(const XmlElement& object, std::optional<int> around) const {
        if (!object.find("nodeset")) return around;
        const std::vector<int> nodes = numa_nodes_of(object);
        return nodes.size() == 1 ? std::optional(nodes.front()) : std::nullopt;
    }

    void read_package(const XmlElement& object) {
        Host& host = into_.host;
        Package package{.model = hwloc_info(object, "CPUModel"), .cores = cores_of(object)};
        while (package.model.ends_with(' ')) package.model.pop_back();
        if (host.packages.empty()) {
            host.cpu.vendor = hwloc_info(object, "CPUVendor");
            host.cpu.family = number_in(object, "CPUFamilyNumber");
            host.cpu.model = number_in(object, "CPUModelNumber");
        }
        host.packages.push_back(std::move(package));
        const std::vector<int> nodes = numa_nodes_of(object);
        if (object.find("gp_index") && !nodes.empty())
            into_.named[{"Package", whole(object, "gp_index", 0, source_)}] = {
                LinkEnd::Kind::numa_node, nodes.front()};
    }

    int number_in(const XmlElement& object, std::string_view info) const {
        const std::string text = hwloc_info(object, info);
        const auto number = text.empty() ? std::optional<std::int64_t>(0) : decimal_number(text);
        if (!number || *number < 0 || *number > std::numeric_limits<int>::max())
            source_.fail(object.line, fmt::format("{}={} is not a number", info, in_quotes(text)));
        return static_cast<int>(*number);
    }

    void read_numa_node(const XmlElement& object) {
        const auto index =
            static_cast<int>(whole(object, "os_index", 0, source_, 0, most_cpus - 1));
        if (!nodes_.insert(index).second)
            source_.fail(object.line, fmt::format("NUMA node {} appears twice", index));
        into_.host.numa_nodes.push_back(
            {.os_index = index,
             .memory = {whole(object, "local_memory", 0, source_, 0, most_bytes)},
             .cores = cores_of(object),
             .kind = numa_kind(object.value("subtype"))});
    }

    void read_cache(const XmlElement& object, const std::string& type) {
        const auto kind = whole(object, "cache_type", 0, source_, 0, 2);
        const int digit = type.size() > 1 && type[1] >= '1' && type[1] <= '9' ? type[1] - '0' : 0;
        into_.host.caches.push_back(
            {.level = static_cast<int>(whole(object, "depth", digit, source_, 0, 9)),
             .kind = type == "MemCache" ? CacheKind::memory_side
                     : kind == 1        ? CacheKind::data
                     : kind == 2        ? CacheKind::instruction
                                        : CacheKind::unified,
             .size = {whole(object, "cache_size", 0, source_, 0, most_bytes)},
             .cores = cores_of(object)});
    }

    // hwloc 1.x has the memory in the machine if the kernel has no NUMA nodes.
    NumaNode all_memory_of(const XmlElement& machine) const {
        return {.memory = {whole(machine, "local_memory", 0, source_, 0, most_bytes)},
                .cores = all_cores()};
    }

    HwlocHost& into_;
    const Source& source_;
    std::set<int> cpus_;
    std::set<int> nodes_, nodes_with_cores_;
    std::optional<CoreOfCpu> core_of_cpu_;
};

const XmlElement& machine_in(const XmlElement& topology, const Source& source) {
    for (const XmlElement& child : topology.children)
        if (child.name == "object" &&
            (child.value("type") == "Machine" || child.value("type") == "System"))
            return child;
    source.fail(topology.line,
                "the file has no object of type Machine; use the complete file of lstopo");
}

// Removes references to NUMA nodes that the file does not describe.
void forget_absent_numa_nodes(HwlocHost& read) {
    std::set<int> nodes;
    for (const NumaNode& node : read.host.numa_nodes) nodes.insert(node.os_index);
    const auto forget = [&](auto& part) {
        if (part.numa_node && !nodes.contains(*part.numa_node)) part.numa_node.reset();
    };
    for (Device& device : read.host.devices) forget(device);
    for (PcieSwitch& pcie_switch : read.host.pcie_switches) forget(pcie_switch);
    std::erase_if(read.named, [&](const auto& named) {
        return named.second.kind == LinkEnd::Kind::numa_node && !nodes.contains(named.second.index);
    });
}

// Numbers the GPUs like their drivers: NVML, ROCm SMI.
void put_gpus_in_order(HwlocHost& read) {
    std::vector<std::int64_t> numbers;
    for (const Device& device : read.host.devices)
        numbers.push_back(gpu_number(device, {"nvml", "rsmi"}));
    const std::vector<int> now_at = put_gpus_in_order(read.host, numbers);
    for (auto& [name, end] : read.named)
        if (end.kind == LinkEnd::Kind::device) end.index = at(now_at, end.index);
}

void note_what_is_missing(HwlocHost& read) {
    Host& host = read.host;
    if (!read.other_accelerators.empty())
        host.not_seen.push_back(note_on_accelerators(read.other_accelerators));
    const auto kind_count = [&](DeviceKind kind) {
        return std::ranges::count(host.devices, kind, &Device::kind);
    };
    if (read.speeds_are_current)
        host.not_seen.push_back(
            "the maximum PCIe speeds: hwloc writes current speeds, and idle links are slow");
    if (kind_count(DeviceKind::gpu) > 1 && host.links.empty())
        host.not_seen.push_back(
            "links between the GPUs (NVLink, xGMI): this hwloc did not query them");
    if (kind_count(DeviceKind::nvswitch) > 1)
        host.not_seen.push_back("links from one NVSwitch to another: hwloc does not list them");
    if (std::ranges::any_of(host.links,
                            [](const Link& link) { return link.kind == LinkKind::xgmi; }))
        host.not_seen.push_back(
            "the number of xGMI links between two GPUs: hwloc does not count them; assumed 1");
    if (kind_count(DeviceKind::nic) > 0)
        host.not_seen.push_back("the speed of the NICs' ports: hwloc does not query it");
}

// Early files of hwloc 1 have no version=.
int format_of(const XmlElement& topology, const Source& source) {
    const std::string version = topology.value("version");
    for (const int major : {1, 2, 3})
        if (version.starts_with(fmt::format("{}.", major))) return major;
    if (!version.empty())
        source.fail(topology.line,
                    "hwloc XML has version " + in_quotes(version) + "; use version 1, 2 or 3");
    return 1;
}

}  // namespace

std::string hwloc_info(const XmlElement& object, std::string_view name) {
    for (const XmlElement& child : object.children)
        if (child.name == "info" && child.value("name") == name) return child.value("value");
    return "";
}

// This reader does not use hwloc_topology_set_xml(): hwloc 2.9 crashes on valid files without
// complete_cpuset= (as shortened or hand-written ones are), rejects the XML of hwloc 3, drops NUMA
// nodes without memory, and its errors have no lines.
Machine read_hwloc_xml(const Source& source) {
    const XmlElement topology = parse_xml(source);
    HwlocHost read;
    read.format = format_of(topology, source);
    const XmlElement& machine = machine_in(topology, source);
    // hwloc 1 and 2 have these infos in the machine object, hwloc 3 next to it.
    const auto info = [&](std::string_view name) {
        const std::string value = hwloc_info(machine, name);
        return value.empty() ? hwloc_info(topology, name) : value;
    };
    read.host.name = info("HostName");
    read.host.cpu.architecture = info("Architecture");
    read.version = info("hwlocVersion");
    StructureReader(read, source).read(machine);
    put_gpus_in_order(read);
    drop_idle_switches(read.host);
    place_on_only_numa_node(read.host);
    forget_absent_numa_nodes(read);
    read_hwloc_links(topology, read, source);
    note_what_is_missing(read);
    return {.hosts = {std::move(read.host)}, .network = {}};
}

}  // namespace tutti
