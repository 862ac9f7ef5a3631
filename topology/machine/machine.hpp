// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Positions in Host::cores, ascending. All other parts of a host are located by the cores near
/// them.
using CoreSet = std::vector<int>;

/// One core: the operating system's numbers of its hardware threads.
struct Core {
    std::vector<int> threads;
    bool operator==(const Core&) const = default;
};

/// One processor package (socket).
struct Package {
    std::string model;
    CoreSet cores;
    bool operator==(const Package&) const = default;
};

/// One NUMA node; `cores` is empty for memory without cores (a GPU's, CXL). `kind` is the source's
/// word for its memory ("HBM", "GPUMemory"); empty for ordinary or unknown memory.
struct NumaNode {
    int os_index = 0;
    Bytes memory;
    CoreSet cores;
    std::string kind = {};
    bool operator==(const NumaNode&) const = default;
};

/// A `memory_side` cache is memory (HBM in cache mode) in front of slower memory of a NUMA node.
enum class CacheKind { unified, data, instruction, memory_side };

struct Cache {
    int level = 0;
    CacheKind kind = CacheKind::unified;
    Bytes size;
    CoreSet cores;
    bool operator==(const Cache&) const = default;
};

/// Maximum speed of a PCIe link, the lower of its two ends; 0 if unknown.
struct PcieLink {
    double gigatransfers = 0;  ///< GT/s of one lane: 8 for generation 3, 16, 32, ...
    int lanes = 0;
    bool operator==(const PcieLink&) const = default;
};

/// A PCIe switch, identified by its upstream port. Downstream and root ports are left out, so a
/// transfer passes each switch once.
struct PcieSwitch {
    std::string pci_address;
    std::string pci_id;
    std::optional<int> above;  ///< position in Host::pcie_switches; none: the root complex
    std::optional<int> numa_node;
    PcieLink link;             ///< upwards
    std::string subsystem_id;  ///< like pci_id; NCCL recognises the levels of some switches by it
    bool operator==(const PcieSwitch&) const = default;
};

/// A direct link between two PCIe switches (positions in Host::pcie_switches) past the root
/// complex.
struct SwitchLink {
    int a = 0, b = 0;
    bool operator==(const SwitchLink&) const = default;
};

/// Device::model of a NIC that is a virtual interface without visible hardware.
inline constexpr std::string_view virtual_interface = "virtual";

enum class DeviceKind { gpu, nic, nvswitch };

/// A port of a NIC, named after its RDMA device ("mlx5_0", "mlx4_0:2") or else its interface
/// ("eth0").
struct Port {
    std::string name;
    double gigabits = 0;          ///< per second and direction; 0 if unknown
    bool for_collectives = true;  ///< false if the source keeps it for other traffic
    bool operator==(const Port&) const = default;
};

/// A GPU, NIC or NVSwitch. `pci_id` is "vendor:device" in hexadecimal; `names` are the names of its
/// interfaces ("eth0", "mlx5_0") or its name in the source ("GPU3"); `numa_node` is the operating
/// system's number. Unknown values are empty, 0 or none.
struct Device {
    DeviceKind kind = DeviceKind::gpu;
    std::string pci_address;
    std::string pci_id;
    std::vector<std::string> names;
    std::optional<int> numa_node;
    std::optional<int> above;  ///< position in Host::pcie_switches; none: the root complex
    PcieLink link;             ///< upwards
    std::string model;
    int compute_capability = 0;  ///< NVIDIA GPUs only: 90 for 9.0
    std::vector<Port> ports;     ///< NICs only
    bool operator==(const Device&) const = default;
};

/// Links other than PCIe; c2c joins a GPU and its CPU (Grace Hopper).
enum class LinkKind { nvlink, xgmi, c2c };

/// One end of a link: a device, or the processors of a NUMA node.
struct LinkEnd {
    enum class Kind { device, numa_node } kind = Kind::device;
    int index = 0;  ///< position in Host::devices, or NumaNode::os_index
    auto operator<=>(const LinkEnd&) const = default;
};

/// All links between the same two ends, equally fast in both directions.
struct Link {
    LinkKind kind = LinkKind::nvlink;
    LinkEnd a, b;
    int count = 1;
    double bandwidth_GBps = 0;  ///< 10^9 bytes per second and direction, all `count` links together
    double microseconds = 0;    ///< latency; 0 if unknown
    bool operator==(const Link&) const = default;
};

/// Processor type as in CPUID; determines the speed between sockets.
struct CpuIdentity {
    std::string architecture;  ///< "x86_64", "ppc64le", "aarch64"
    std::string vendor;        ///< "GenuineIntel", "AuthenticAMD", "IBM"
    int family = 0;
    int model = 0;
    bool operator==(const CpuIdentity&) const = default;
};

/// Two GPUs (positions in Host::devices) that cannot reach each other's memory.
struct NoPeerAccess {
    int a = 0, b = 0;
    bool operator==(const NoPeerAccess&) const = default;
};

/// One machine with one operating system. Cores that share a package or a cache are adjacent.
struct Host {
    std::string name;
    CpuIdentity cpu;
    std::vector<Package> packages;
    std::vector<NumaNode> numa_nodes;
    std::vector<Core> cores;
    std::vector<Cache> caches;
    std::vector<PcieSwitch> pcie_switches;  ///< each after the switch above it
    std::vector<SwitchLink> switch_links;
    std::vector<Device> devices;
    std::vector<Link> links;
    /// Equal on hosts whose NVSwitches form one network (multi-node NVLink); empty without one.
    std::string nvlink_fabric;
    std::vector<NoPeerAccess> no_peer_access;  ///< from the driver; empty if it was not asked
    std::vector<std::string> transports;       ///< that UCX would use, e.g. "tcp/eth0"
    std::vector<std::string> not_seen;  ///< what may exist but could not be detected, as sentences
    bool operator==(const Host&) const = default;
};

/// The network from one host to another, measured or described by the user.
struct NetworkLink {
    int from = 0;  ///< positions in Machine::hosts
    int to = 0;
    double bandwidth_GBps = 0;  ///< 10^9 bytes per second in this direction
    double microseconds = 0;    ///< half a round trip
    bool operator==(const NetworkLink&) const = default;
};

/// All hosts of a run, in the order of their first rank.
struct Machine {
    std::vector<Host> hosts;
    std::vector<NetworkLink> network;  ///< empty if not measured
    bool operator==(const Machine&) const = default;
};

/// "L1d" for data, "L1i" for instructions, "L3" for both.
std::string short_name(const Cache& cache);
std::string short_name(DeviceKind kind);
std::string short_name(LinkKind kind);

/// Returns the label of each device, its kind and a number ("GPU0", "NIC2"), in the order of
/// Host::devices.
std::vector<std::string> device_labels(const Host& host);

/// Prints the host as a tree: a line per core or group of equal cores, PCIe switches with their
/// devices, other links, then Host::not_seen.
std::string print_tree(const Host& host);

/// Prints all hosts with their fingerprints; equal hosts are printed once.
std::string print_tree(const Machine& machine);

/// Writes the whole machine as JSON, which topology/import reads back exactly.
std::string to_json(const Machine& machine);

}  // namespace tutti
#pragma GCC visibility pop

namespace tutti {

/// Returns the name of the network of NVSwitches that all hosts share; empty if there is none or
/// only one host.
std::string shared_fabric(const Machine& machine);

}  // namespace tutti
