// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/source.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// PCIe distance of two devices, nearest first, with nvidia-smi's names. `unknown` means that
/// NVLinks join them, which hides it.
enum class Nearness { unknown, self, pix, pxb, phb, node, sys };

/// The matrix of `nvidia-smi topo -m` of one host, with its `-p2p` matrices.
struct SmiMatrix {
    struct Device {
        std::string name;  ///< "GPU0", "mlx5_0"
        bool is_gpu = false;
        int line = 0;
        std::vector<int> cpus;         ///< near it; empty if unknown
        bool lacks_cpus = false;       ///< nvidia-smi cut the list of CPUs, or probably did
        std::optional<int> numa_node;  ///< none if unknown
        std::string model;             ///< from lines of nvidia-smi or nvidia-smi -L
        std::string pci_address;       ///< from nvidia-smi; empty if unknown
    };
    std::string host;           ///< empty if the text does not name it
    bool has_distances = true;  ///< false if there is only a -p2p matrix
    std::vector<NoPeerAccess> no_peer_access;
    std::vector<Device> devices;
    std::vector<Nearness> nearness;  ///< row by row, symmetric
    std::vector<int> nvlinks;        ///< row by row, symmetric

    Nearness near(std::size_t a, std::size_t b) const { return nearness[a * devices.size() + b]; }
    int links(std::size_t a, std::size_t b) const { return nvlinks[a * devices.size() + b]; }
};

/// Parses the matrices of all hosts in the text. Throws Error through `source` if one is malformed
/// or contradicts itself.
std::vector<SmiMatrix> parse_smi_matrices(const Source& source);

/// Groups of devices (union-find): if A is with B and B with C, A is with C. So pairs hidden by
/// NVLink are grouped by the devices near both.
class DeviceGroups {
public:
    explicit DeviceGroups(std::size_t count);

    /// Returns the first member of the device's group.
    std::size_t of(std::size_t member) const;
    void join(std::size_t a, std::size_t b);

private:
    std::vector<std::size_t> parent_;
};

/// Groups devices that are at most `farthest` apart.
DeviceGroups grouped(const SmiMatrix& matrix, Nearness farthest);

/// Returns the NUMA node of each device: the table's, or a number for each group of devices that
/// are not SYS apart. None for a NIC that is SYS to everything, which the driver writes if it does
/// not know.
std::vector<std::optional<int>> numa_nodes_of(const SmiMatrix& matrix);

}  // namespace tutti
