// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/index.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Where traffic begins, ends or turns. A `cpu` is a NUMA node; all NVSwitches of a host are one
/// node, since a GPU spreads its traffic over them; a `nic` is the PCIe device, a `port` its way
/// out.
enum class GraphNodeKind { gpu, nic, port, cpu, pcie_switch, nvswitch };

struct GraphNode {
    GraphNodeKind kind = GraphNodeKind::cpu;
    int index = 0;  ///< position in Host::devices or pcie_switches; of a cpu its NumaNode::os_index
    std::string name;  ///< "GPU3", "mlx5_0", "NUMA node 1", "switch 0000:08:00.0"
    bool operator==(const GraphNode&) const = default;
};

enum class EdgeKind { nvlink, xgmi, c2c, pcie, sockets, port };

/// One direction of a connection. Its other direction is an edge of its own, since transfers in
/// opposite directions do not slow one another.
struct GraphEdge {
    EdgeKind kind = EdgeKind::pcie;
    int from = 0;  ///< positions in HostGraph::nodes
    int to = 0;
    double bandwidth_GBps = 0;  ///< 10^9 bytes per second
    int count = 1;              ///< parallel links
    int reverse = 0;            ///< position of the other direction in HostGraph::edges
};

/// A host as transfers see it.
struct HostGraph {
    std::vector<GraphNode> nodes;
    std::vector<GraphEdge> edges;
    std::vector<std::vector<int>> out;  ///< of each node, positions in `edges`
    std::vector<int> gpus;              ///< nodes, in the order of Host::devices: GPU0, GPU1, ...
    std::vector<int> ports;
    std::vector<bool> port_speed_known;  ///< of each of `ports`; else its edge is an assumption
    std::vector<int> cpus;
    CpuIdentity cpu;
    std::vector<int> compute_capability;  ///< of each node; 0 where unknown or no NVIDIA GPU

    /// "GPU0 -> GPU3 (NVLink)"
    std::string describe(int edge) const;
};

/// Takes each link at what it can do at most (link_speeds.hpp where the host does not say). NUMA
/// nodes are joined all to all. A two-level Broadcom switch, which shows itself as switches under a
/// switch, is one node. A device of which no NUMA node is known stands at the first; a NIC of which
/// no speed is known carries 10 Gbit/s, as NCCL takes it.
HostGraph graph_of(const Host& host);

std::string short_name(EdgeKind kind);

/// What a path passes at its worst, best first; names and order are NCCL's (src/graph/topo.h):
/// itself; NVLink or xGMI; NVLink through one more GPU; chip to chip; one PCIe switch; several; C2C
/// and then PCIe; NVLink to a GPU that has the NIC near; a CPU; the link between sockets; the
/// network; no way. NCCL has no NODE: two host bridges of one NUMA node are PHB.
enum class PathType { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys, net, dis };

/// "LOC", "NVL", ...
std::string short_name(PathType type);

struct Path {
    PathType type = PathType::dis;
    double bandwidth_GBps = 0;  ///< of the narrowest edge; 10^9 bytes per second
    std::vector<int> edges;     ///< in HostGraph::edges, from first to last
    int hops() const { return int_size(edges); }
};

/// NCCL's bandwidth inside one GPU.
constexpr double local_GBps = 5000;

/// Paths from each node (first index) to each (second), as NCCL finds them: the fewest edges, of
/// these the widest; through a GPU only by a single NVLink hop on either side of it. GPU to port is
/// replaced by a way over another GPU (PXN) where NCCL would do so.
using PathTable = std::vector<std::vector<Path>>;

PathTable paths_of(const HostGraph& graph);

/// What `nvidia-smi topo -m` says of two GPUs or ports: "X", "NV6", "PIX", "PXB", "PHB", "SYS"
/// ("XGMI" as rocm-smi says). NODE needs host bridges, which a Host does not have: it reads PHB.
std::string smi_word(const HostGraph& graph, int from, int to);

/// The matrix of all GPUs and ports in the shape of `nvidia-smi topo -m`: NCCL's types with
/// bandwidths, then the words of nvidia-smi.
std::string print_paths(const Host& host);

/// {"nodes":["GPU0",...],"type":[[...]],"GBps":[[...]],"hops":[[...]],"smi":[[...]]}; of several
/// hosts {"hosts":[...]}, each as such an object with its "name".
std::string paths_to_json(const Machine& machine);

}  // namespace tutti
