// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// All links of a device or NUMA node together.
struct LinkSum {
    LinkKind kind = LinkKind::nvlink;  ///< of the last one
    int count = 0;
    double bandwidth_GBps = 0;  ///< per direction
    /// Equal within what is printed: sums of the same links in another order differ in the last
    /// bits.
    bool operator==(const LinkSum& other) const {
        const double apart = bandwidth_GBps - other.bandwidth_GBps;
        return count == other.count && apart < 1e-6 && apart > -1e-6;
    }
};

/// The links of a host as people think of them.
struct LinkSummary {
    std::vector<LinkKind> kinds;  ///< between GPUs and switches; if there are none, all
    std::vector<int> gpus;        ///< positions of those with links to GPUs
    std::map<std::pair<int, int>, LinkSum> pairs;     ///< of two GPUs, the lower position first
    std::map<int, LinkSum> to_switches;               ///< of a GPU, to all NVSwitches together
    std::vector<int> nvswitches;                      ///< positions
    std::map<std::pair<int, int>, LinkSum> to_nodes;  ///< of a GPU and a NUMA node (its number)
    std::vector<int> without;  ///< GPUs that reach no GPU and no NVSwitch, where others do
};
LinkSummary summary_of_links(const Host& host);

/// GPUs that have the same links to NVSwitches, the group of the first GPU first.
struct AlikeGpus {
    LinkSum sum;
    std::vector<int> gpus;  ///< positions, ascending
};
std::vector<AlikeGpus> alike_at_switches(const LinkSummary& links);

/// "GPU0-GPU2, GPU4": GPUs at these ascending positions; a span holds no other GPU.
std::string in_spans(const std::vector<int>& gpus, const std::vector<std::string>& labels);

/// "NVLink", or "NVLink and xGMI".
std::string names_of(const std::vector<LinkKind>& kinds);

/// "0-3,8": ascending numbers as ranges.
std::string in_ranges(const std::vector<int>& numbers);

/// "24", "0.5", "370.8": at most one digit after the point.
std::string in_GBps(double bandwidth_GBps);

/// "1 core", "2 cores".
std::string counted(std::size_t number, std::string_view noun);

/// Returns the memory of all NUMA nodes together, limited to what fits.
Bytes memory_of(const Host& host);

/// "3.5 GiB".
std::string in_binary_units(Bytes bytes);

/// Hosts that are built alike, in the order of the first of each kind: positions in
/// Machine::hosts.
std::vector<std::vector<int>> alike_hosts(const Machine& machine);

/// A line for each network of NVSwitches of several hosts; "" without one.
std::string fabrics_text(const Machine& machine);

/// "2 hosts like this: n0, n1"; the name alone of a host that is the only one of its kind.
std::string names_of_alike(const Machine& machine, const std::vector<int>& alike);

}  // namespace tutti
