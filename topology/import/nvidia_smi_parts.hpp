// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.hpp"
#include "topology/import/pasted_lines.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// PCIe distance of two devices, nearest first, with nvidia-smi's names. `unknown` means that
/// NVLinks join them, which hides it.
enum class Nearness { unknown, self, pix, pxb, phb, node, sys };

/// One cell of `nvidia-smi topo -m` or, if `is_p2p`, of `nvidia-smi topo -p2p`.
struct SmiCell {
    Nearness nearness = Nearness::unknown;
    int links = 0;  ///< NVLinks
    bool is_p2p = false;
    bool is_refused = false;  ///< no peer access
    bool operator==(const SmiCell&) const = default;
};

/// One table of a pasted text: a row for each device, each with as many cells.
struct SmiTable {
    struct Row {
        std::string name;
        int line = 0;
        std::vector<SmiCell> cells;
        std::string cpus, numa_node;  ///< the affinities; empty if the table has none
    };
    std::vector<Row> rows;
    std::size_t begin = 0, end = 0;  ///< positions in the lines
    bool is_p2p = false;
};

/// Returns the position of "GPU0 GPU1 mlx5_0 CPU Affinity ..." in a line; npos if the line is not
/// the header of a table.
std::size_t smi_header_in(std::string_view line);

/// Whether this is the name of a GPU in a table: "GPU0".
bool is_smi_gpu(std::string_view name);

/// Reads the table whose header is in line `begin`. Throws Error through `source` if it is
/// malformed or incomplete.
SmiTable read_smi_table(const Source& source, const std::vector<PastedLine>& lines,
                        std::size_t begin);

/// A device of a matrix; what is unknown is empty or none.
struct SmiDevice {
    std::string name;  ///< "GPU0", "mlx5_0"
    bool is_gpu = false;
    int line = 0;
    std::vector<int> cpus;    ///< near it
    bool lacks_cpus = false;  ///< nvidia-smi cut the list of CPUs, or probably did
    std::optional<int> numa_node;
    std::string model;        ///< from lines of nvidia-smi or nvidia-smi -L
    std::string pci_address;  ///< from nvidia-smi
};

/// The matrix of `nvidia-smi topo -m` of one host, with its `-p2p` matrices.
struct SmiMatrix {
    std::string host;           ///< empty if the text does not name it
    bool has_distances = true;  ///< false if there is only a -p2p matrix
    std::vector<NoPeerAccess> no_peer_access;
    std::vector<SmiDevice> devices;
    std::vector<SmiCell> cells;  ///< row by row, symmetric

    const SmiCell& cell(std::size_t a, std::size_t b) const {
        return cells[a * devices.size() + b];
    }
    Nearness near(std::size_t a, std::size_t b) const { return cell(a, b).nearness; }
    int links(std::size_t a, std::size_t b) const { return cell(a, b).links; }
};

/// Parses the matrices of all hosts in the text. Throws Error through `source` if one is malformed
/// or contradicts itself.
std::vector<SmiMatrix> parse_smi_matrices(const Source& source);

}  // namespace tutti
