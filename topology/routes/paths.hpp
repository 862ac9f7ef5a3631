// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "topology/routes/graph.hpp"

namespace tutti {

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
    int hops() const { return static_cast<int>(edges.size()); }
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
