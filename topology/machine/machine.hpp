// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

#pragma GCC visibility push(default)
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

/// What a PCIe link can do at most: the lesser of its two ends. 0 where unknown.
struct PcieLink {
    double gigatransfers = 0;  ///< GT/s of one lane: 8 for generation 3, 16, 32, ...
    int lanes = 0;
    bool operator==(const PcieLink&) const = default;
};

/// A PCIe switch, known by its upstream port; the downstream ports and the root ports are left out,
/// so that each switch that a transfer passes is passed once.
struct PcieSwitch {
    std::string pci_address;
    std::string pci_id;
    std::optional<int> above;  ///< position in Host::pcie_switches; none: the root complex
    std::optional<int> numa_node;
    PcieLink link;             ///< upwards
    std::string subsystem_id;  ///< as pci_id; NCCL knows the levels of some switches by it
    bool operator==(const PcieSwitch&) const = default;
};

/// Device::model of a NIC that is an interface of software, with no hardware shown behind it.
inline constexpr std::string_view virtual_interface = "virtual";

enum class DeviceKind { gpu, nic, nvswitch };

/// One way out of a NIC, called by its RDMA device where it has one ("mlx5_0", "mlx4_0:2"), else by
/// its interface ("eth0").
struct Port {
    std::string name;
    double gigabits = 0;  ///< per second and direction; 0 where unknown
    bool operator==(const Port&) const = default;
};

/// A device that collectives care about. `pci_id` is "vendor:device" in hexadecimal; `names` are
/// those of its interfaces ("eth0", "mlx5_0"), or what the source calls it ("GPU3"); `numa_node` is
/// the operating system's number. Whatever is unknown is empty, 0 or none.
struct Device {
    DeviceKind kind = DeviceKind::gpu;
    std::string pci_address;
    std::string pci_id;
    std::vector<std::string> names;
    std::optional<int> numa_node;
    std::optional<int> above;  ///< position in Host::pcie_switches; none: the root complex
    PcieLink link;             ///< upwards
    std::string model;
    int compute_capability = 0;  ///< of an NVIDIA GPU: 90 for 9.0
    std::vector<Port> ports;     ///< of a NIC
    bool operator==(const Device&) const = default;
};

/// Links beside PCIe. c2c joins a GPU and its CPU (Grace Hopper).
enum class LinkKind { nvlink, xgmi, c2c };

/// One end of a link: a device, or the processors of a NUMA node.
struct LinkEnd {
    enum class Kind { device, numa_node } kind = Kind::device;
    int index = 0;  ///< position in Host::devices, or NumaNode::os_index
    auto operator<=>(const LinkEnd&) const = default;
};

/// All links between the same two ends, which carry as much in either direction.
struct Link {
    LinkKind kind = LinkKind::nvlink;
    LinkEnd a, b;
    int count = 1;
    double bandwidth_GBps = 0;  ///< 10^9 bytes per second and direction, all `count` together
    double microseconds = 0;    ///< latency; 0 where unknown
    bool operator==(const Link&) const = default;
};

/// Which processor it is, as CPUID says; decides how fast the sockets are joined.
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

/// One machine that runs one operating system. A plain value: copy, compare and print it.
/// Cores that share a package or a cache stand next to one another.
struct Host {
    std::string name;
    CpuIdentity cpu;
    std::vector<Package> packages;
    std::vector<NumaNode> numa_nodes;
    std::vector<Core> cores;
    std::vector<Cache> caches;
    std::vector<PcieSwitch> pcie_switches;  ///< a switch comes after the one above it
    std::vector<Device> devices;
    std::vector<Link> links;
    std::vector<NoPeerAccess> no_peer_access;  ///< as the driver says; empty too if nobody asked
    std::vector<std::string> transports;       ///< what UCX would use here, as "tcp/eth0"
    std::vector<std::string> not_seen;  ///< what may exist but could not be looked at, as sentences
    bool operator==(const Host&) const = default;
};

/// The way between two hosts, as measured or as somebody described it.
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
    std::vector<NetworkLink> network;  ///< empty where nobody has measured
    bool operator==(const Machine&) const = default;
};

/// "L1d" for data, "L1i" for instructions, "L3" for both.
std::string short_name(const Cache& cache);
std::string short_name(DeviceKind kind);
std::string short_name(LinkKind kind);

/// What each device is called on pictures and in tables: its kind and a number ("GPU0", "NIC2"), in
/// the order of Host::devices.
std::vector<std::string> device_labels(const Host& host);

/// What holds what, a line for each core (or for each row of cores that are alike), PCIe switches
/// with what hangs below them, the links beside PCIe, then what could not be seen.
std::string print_tree(const Host& host);

/// The same with fingerprints; hosts that are built alike are drawn once.
std::string print_tree(const Machine& machine);

/// All of the machine; topology/import reads it back exactly.
std::string to_json(const Machine& machine);

}  // namespace tutti
#pragma GCC visibility pop
