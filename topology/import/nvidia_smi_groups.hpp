// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "topology/import/nvidia_smi_matrix.hpp"

namespace tutti {

/// Devices that are known to share something; what A shares with B and B with C, A shares with C.
/// So a pair that NVLink hides is judged by the devices that are near both.
class DeviceGroups {
public:
    explicit DeviceGroups(std::size_t count);

    /// A group is known by its first member.
    std::size_t of(std::size_t member) const;
    void join(std::size_t a, std::size_t b);

private:
    std::vector<std::size_t> parent_;
};

/// Those that are at most so far from one another, as the matrix says.
DeviceGroups grouped(const SmiMatrix& matrix, Nearness farthest);

/// Of each device: the table's, or a number for each group of devices that are not SYS apart. None
/// for a NIC (one card of several, too) that is SYS from everything: the driver writes that where
/// it does not know.
std::vector<std::optional<int>> numa_nodes_of(const SmiMatrix& matrix);

}  // namespace tutti
