// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/source.hpp"

namespace tutti {

/// How near two devices are to each other by PCIe, nearest first, as nvidia-smi's legend says.
/// `unknown`: NVLinks join them, and hide the rest.
enum class Nearness { unknown, self, pix, pxb, phb, node, sys };

/// The matrix of `nvidia-smi topo -m`.
struct SmiMatrix {
    struct Device {
        std::string name;  ///< "GPU0", "mlx5_0"
        bool is_gpu = false;
        int line = 0;
        std::vector<int> cpus;         ///< near it; empty where the table does not say
        std::optional<int> numa_node;  ///< likewise
        std::string model;        ///< from lines of nvidia-smi or nvidia-smi -L beside the matrix
        std::string pci_address;  ///< from nvidia-smi; empty where nothing says it
    };
    std::vector<Device> devices;
    std::vector<Nearness> nearness;  ///< row by row, symmetric
    std::vector<int> nvlinks;        ///< likewise

    Nearness near(std::size_t a, std::size_t b) const { return nearness[a * devices.size() + b]; }
    int links(std::size_t a, std::size_t b) const { return nvlinks[a * devices.size() + b]; }
};

/// Throws Error through `source` for what is no such matrix, or one that contradicts itself.
SmiMatrix parse_smi_matrix(const Source& source);

}  // namespace tutti
