// SPDX-License-Identifier: Apache-2.0
#include <hwloc.h>

#include <memory>

#include "base/error.hpp"
#include "topology/detect/detect.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/detect/sysfs_host.hpp"
#include "topology/machine/numa_nodes.hpp"

namespace tutti {
namespace {

struct Destroy {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Topology load() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw Error{"hwloc cannot start: out of memory"};
    Topology topology(raw);
    // The whole machine, including CPUs that a container or a launcher hides from this process.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    // These query X servers, GPU drivers and the bus for unused data, which may take seconds.
    for (const char* component : {"gl", "opencl", "pci"})
        hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    if (hwloc_topology_load(raw) != 0)
        throw Error{"hwloc cannot describe this machine; configure with -DTUTTI_HWLOC=OFF"};
    return topology;
}

std::vector<hwloc_obj_t> all_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
    std::vector<hwloc_obj_t> objects;
    for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_obj_by_type(topology, type, obj));)
        objects.push_back(obj);
    return objects;
}

CoreSet cores_of(hwloc_topology_t topology, hwloc_obj_t object) {
    CoreSet cores;
    for (const hwloc_obj_t core : all_of(topology, HWLOC_OBJ_CORE))
        if (hwloc_bitmap_intersects(core->cpuset, object->cpuset))
            cores.push_back(static_cast<int>(core->logical_index));
    return cores;
}

std::vector<Core> read_cores(hwloc_topology_t topology) {
    std::vector<Core> cores;
    for (const hwloc_obj_t object : all_of(topology, HWLOC_OBJ_CORE)) {
        Core core;
        for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
             cpu = hwloc_bitmap_next(object->cpuset, cpu))
            core.threads.push_back(cpu);
        cores.push_back(core);
    }
    return cores;
}

std::vector<Package> read_packages(hwloc_topology_t topology) {
    std::vector<Package> packages;
    for (const hwloc_obj_t object : all_of(topology, HWLOC_OBJ_PACKAGE)) {
        const char* model = hwloc_obj_get_info_by_name(object, "CPUModel");
        packages.push_back({.model = model ? model : "", .cores = cores_of(topology, object)});
    }
    return packages;
}

std::vector<NumaNode> read_numa_nodes(hwloc_topology_t topology) {
    std::vector<NumaNode> nodes;
    for (const hwloc_obj_t object : all_of(topology, HWLOC_OBJ_NUMANODE))
        nodes.push_back({.os_index = static_cast<int>(object->os_index),
                         .memory = {static_cast<std::int64_t>(object->attr->numanode.local_memory)},
                         .cores = cores_of(topology, object),
                         .kind = numa_kind(object->subtype ? object->subtype : "")});
    give_each_core_one_node(nodes);
    return nodes;
}

CacheKind cache_kind(hwloc_obj_cache_type_t type) {
    switch (type) {
        case HWLOC_OBJ_CACHE_DATA:
            return CacheKind::data;
        case HWLOC_OBJ_CACHE_INSTRUCTION:
            return CacheKind::instruction;
        case HWLOC_OBJ_CACHE_UNIFIED:
            break;
    }
    return CacheKind::unified;
}

std::vector<Cache> read_caches(hwloc_topology_t topology) {
    std::vector<Cache> caches;
    for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; ++type)
        for (const hwloc_obj_t object : all_of(topology, static_cast<hwloc_obj_type_t>(type)))
            caches.push_back({.level = static_cast<int>(object->attr->cache.depth),
                              .kind = cache_kind(object->attr->cache.type),
                              .size = {static_cast<std::int64_t>(object->attr->cache.size)},
                              .cores = cores_of(topology, object)});
    return caches;
}

}  // namespace

Host detect_structure() {
    const Topology topology = load();
    Host host;
    host.packages = read_packages(topology.get());
    host.numa_nodes = read_numa_nodes(topology.get());
    host.cores = read_cores(topology.get());
    host.caches = read_caches(topology.get());
    // HWLOC_XMLFILE or HWLOC_SYNTHETIC may make hwloc describe another machine.
    if (!hwloc_topology_is_thissystem(topology.get())) return host;
    host.cpu = read_cpu_identity("/");
    // Devices come from the kernel's files: hwloc has no switches and only current PCIe speeds.
    return with_sysfs_devices(std::move(host), "/");
}

}  // namespace tutti
