// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/index.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Nodes of the graph. A `cpu` is a NUMA node; all NVSwitches of a host are one node, as a GPU
/// spreads its traffic over them; a `nic` is a PCIe device, a `port` one of its ports.
enum class GraphNodeKind { gpu, nic, port, cpu, pcie_switch, nvswitch };

struct GraphNode {
    GraphNodeKind kind = GraphNodeKind::cpu;
    int index = 0;     ///< position in its Host's devices or pcie_switches; of a cpu, the os_index
    std::string name;  ///< "GPU3", "mlx5_0", "NUMA node 1", "switch 0000:08:00.0"
    bool operator==(const GraphNode&) const = default;
};

enum class EdgeKind { nvlink, xgmi, c2c, pcie, sockets, port };

/// One direction of a connection. The other direction is another edge, as transfers in opposite
/// directions do not slow each other.
struct GraphEdge {
    EdgeKind kind = EdgeKind::pcie;
    int from = 0;  ///< positions in HostGraph::nodes
    int to = 0;
    double bandwidth_GBps = 0;  ///< 10^9 bytes per second
    int count = 1;              ///< parallel links
    int reverse = 0;            ///< position of the other direction in HostGraph::edges
};

/// The graph of a host for data transfers.
struct HostGraph {
    std::vector<GraphNode> nodes;
    std::vector<GraphEdge> edges;
    std::vector<std::vector<int>> out;  ///< for each node, positions in `edges`
    std::vector<int> gpus;              ///< nodes, in the order of Host::devices: GPU0, GPU1, ...
    std::vector<int> ports;
    std::vector<bool> port_speed_known;  ///< for each of `ports`; else the speed is assumed
    std::vector<int> cpus;
    CpuIdentity cpu;
    std::vector<int> compute_capability;  ///< for each node; 0 if unknown or no NVIDIA GPU

    /// Returns "GPU0 -> GPU3 (NVLink)".
    std::string describe(int edge) const;
};

/// Makes the graph with the maximum speed of each link (from link_speeds.hpp if the host has none).
/// All NUMA nodes are connected to each other. A two-level Broadcom switch, which appears as
/// switches below a switch, is one node. Devices with unknown NUMA node are at the first one; NICs
/// of unknown speed have 10 Gbit/s, as in NCCL; ports that are not for collectives are left out.
HostGraph graph_of(const Host& host);

/// Makes one graph of hosts with a shared_fabric(): their NVSwitches are one node, and GPUs are
/// numbered host by host.
HostGraph graph_of_fabric(const std::vector<Host>& hosts);

std::string short_name(EdgeKind kind);

/// The worst part of a path, best first, with NCCL's names and order (src/graph/topo.h): same node;
/// NVLink or xGMI; NVLink through another GPU; chip to chip; one PCIe switch; several; C2C then
/// PCIe; NVLink to a GPU near the NIC; a CPU; the link between sockets; the network; no path. NCCL
/// has no NODE: two host bridges of one NUMA node are PHB.
enum class PathType { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys, net, dis };

/// "LOC", "NVL", ...
std::string short_name(PathType type);

struct Path {
    PathType type = PathType::dis;
    double bandwidth_GBps = 0;  ///< of the slowest edge; 10^9 bytes per second
    std::vector<int> edges;     ///< in HostGraph::edges, from first to last
    int hops() const { return int_size(edges); }
};

/// NCCL's bandwidth within a GPU.
constexpr double local_GBps = 5000;

/// Paths from each node (first index) to each node (second) as in NCCL: with the fewest edges, then
/// the most bandwidth; through a GPU only with one NVLink hop before and after it. Paths from a GPU
/// to a port go over another GPU (PXN) where NCCL does that.
using PathTable = std::vector<std::vector<Path>>;

PathTable paths_of(const HostGraph& graph);

/// Returns the cell of `nvidia-smi topo -m` for two GPUs or ports: "X", "NV6", "PIX", "PXB", "PHB"
/// or "SYS" ("XGMI" as in rocm-smi). A Host has no host bridges, so NODE appears as PHB.
std::string smi_word(const HostGraph& graph, int from, int to);

/// Prints two matrices of all GPUs and ports: NCCL's path types with bandwidths, and the cells of
/// `nvidia-smi topo -m`.
std::string print_paths(const HostGraph& graph);

/// Returns {"nodes":["GPU0",...],"type":[[...]],"GBps":[[...]],"hops":[[...]],"smi":[[...]]}; for
/// several hosts {"hosts":[...]} with such an object and a "name" for each, and "fabric" for all
/// GPUs of a shared_fabric().
std::string paths_to_json(const Machine& machine);

}  // namespace tutti
