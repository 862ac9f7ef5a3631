// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "topology/import/nvidia_smi_matrix.hpp"

namespace tutti {
namespace {

// Whether two devices have different NUMA nodes by their affinity columns.
bool have_other_affinities(const SmiMatrix::Device& a, const SmiMatrix::Device& b) {
    if (a.numa_node && b.numa_node) return a.numa_node != b.numa_node;
    return !a.cpus.empty() && !b.cpus.empty() && a.cpus != b.cpus;
}

// Returns the first known affinities of each group.
std::vector<SmiMatrix::Device> affinities_of(const SmiMatrix& matrix, const DeviceGroups& groups) {
    std::vector<SmiMatrix::Device> affinity(matrix.devices.size());
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        SmiMatrix::Device& group = affinity[groups.of(i)];
        if (!group.numa_node) group.numa_node = matrix.devices[i].numa_node;
        if (group.cpus.empty()) group.cpus = matrix.devices[i].cpus;
    }
    return affinity;
}

// Joins devices that are NODE apart (between two host bridges), except with different affinities:
// the driver also writes NODE between NUMA nodes of one socket.
void join_nodes(const SmiMatrix& matrix, DeviceGroups& groups) {
    auto affinity = affinities_of(matrix, groups);
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
            if (matrix.near(a, b) != Nearness::node) continue;
            const auto one = affinity[groups.of(a)], other = affinity[groups.of(b)];
            if (have_other_affinities(one, other)) continue;
            groups.join(a, b);
            affinity[groups.of(a)] = {.cpus = one.cpus.empty() ? other.cpus : one.cpus,
                                      .numa_node = one.numa_node ? one.numa_node : other.numa_node};
        }
}

// Joins GPUs whose distance is hidden by NVLink if they have the same affinities. For other devices
// the matrix is more reliable.
void join_hidden(const SmiMatrix& matrix, DeviceGroups& groups) {
    std::map<std::vector<int>, std::size_t> with_cpus;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        const auto& cpus = matrix.devices[i].cpus;
        if (cpus.empty()) continue;
        const std::size_t other = with_cpus.try_emplace(cpus, i).first->second;
        if (matrix.near(i, other) == Nearness::unknown) groups.join(i, other);
    }
}

// Returns for each group whether its NUMA node is known in any way.
std::vector<bool> are_placed(const SmiMatrix& matrix, const DeviceGroups& groups) {
    std::vector<bool> placed(matrix.devices.size());
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        const SmiMatrix::Device& device = matrix.devices[i];
        const auto says_so = [&](std::size_t other) {
            const Nearness near = matrix.near(i, other);
            if (device.is_gpu) return other != i && near != Nearness::unknown;
            return near == Nearness::phb || near == Nearness::node;
        };
        bool is_placed = device.numa_node || !device.cpus.empty();
        for (std::size_t j = 0; j < matrix.devices.size() && !is_placed; ++j)
            is_placed = says_so(j);
        if (is_placed) placed[groups.of(i)] = true;
    }
    return placed;
}

}  // namespace

DeviceGroups::DeviceGroups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
}

std::size_t DeviceGroups::of(std::size_t member) const {
    while (parent_[member] != member) member = parent_[member];
    return member;
}

void DeviceGroups::join(std::size_t a, std::size_t b) {
    a = of(a);
    b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
}

DeviceGroups grouped(const SmiMatrix& matrix, Nearness farthest) {
    DeviceGroups groups(matrix.devices.size());
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (const Nearness near = matrix.near(a, b);
                near != Nearness::unknown && near <= farthest)
                groups.join(a, b);
    return groups;
}

std::vector<std::optional<int>> numa_nodes_of(const SmiMatrix& matrix) {
    const std::size_t count = matrix.devices.size();
    DeviceGroups groups = grouped(matrix, Nearness::phb);
    join_nodes(matrix, groups);
    join_hidden(matrix, groups);
    const std::vector<bool> placed = are_placed(matrix, groups);
    std::map<std::size_t, int> number_of;  // by group
    for (std::size_t i = 0; i < count; ++i)
        if (const auto node = matrix.devices[i].numa_node)
            number_of.try_emplace(groups.of(i), *node);
    int next = 0;
    std::vector<std::optional<int>> nodes(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t group = groups.of(i);
        if (!placed[group]) continue;
        while (!number_of.contains(group)) {
            const bool taken = std::ranges::any_of(
                number_of, [&](const auto& numbered) { return numbered.second == next; });
            if (!taken) number_of[group] = next;
            ++next;
        }
        nodes[i] = number_of[group];
    }
    return nodes;
}

}  // namespace tutti
