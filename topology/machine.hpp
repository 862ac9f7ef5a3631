// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

/// Positions in Host::cores, ascending. Everything else on a host is described by the cores near
/// it.
using CoreSet = std::vector<int>;

/// One core: the numbers that the operating system gives its hardware threads.
struct Core {
    std::vector<int> threads;
    bool operator==(const Core&) const = default;
};

/// One processor in its socket.
struct Package {
    std::string model;
    CoreSet cores;
    bool operator==(const Package&) const = default;
};

/// One memory; `cores` is empty for memory that belongs to no core (a GPU's, CXL).
struct NumaNode {
    int os_index = 0;
    Bytes memory;
    CoreSet cores;
    bool operator==(const NumaNode&) const = default;
};

enum class CacheKind { unified, data, instruction };

struct Cache {
    int level = 0;
    CacheKind kind = CacheKind::unified;
    Bytes size;
    CoreSet cores;
    bool operator==(const Cache&) const = default;
};

enum class DeviceKind { gpu, nic };

/// A device that collectives care about. `pci_id` is "vendor:device" in hexadecimal; `names` are
/// those of its interfaces ("eth0", "mlx5_0"); `numa_node` is the operating system's number.
struct Device {
    DeviceKind kind = DeviceKind::gpu;
    std::string pci_address;
    std::string pci_id;
    std::vector<std::string> names;
    std::optional<int> numa_node;
    bool operator==(const Device&) const = default;
};

/// One machine that runs one operating system. A plain value: copy, compare and print it.
/// Cores that share a package or a cache stand next to one another.
struct Host {
    std::string name;
    std::vector<Package> packages;
    std::vector<NumaNode> numa_nodes;
    std::vector<Core> cores;
    std::vector<Cache> caches;
    std::vector<Device> devices;
    std::vector<std::string> not_seen;  ///< what may exist but could not be looked at, as sentences
    bool operator==(const Host&) const = default;
};

/// "L1d" for data, "L1i" for instructions, "L3" for both.
std::string short_name(const Cache& cache);
std::string short_name(DeviceKind kind);

/// What holds what, a line for each core, then what could not be seen.
std::string print_tree(const Host& host);

std::string to_json(const Host& host);

}  // namespace tutti
