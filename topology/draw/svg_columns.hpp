// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// What a picture draws as one box at the end of a branch of the PCIe tree: a GPU, or the functions
/// of one NIC.
struct Leaf {
    std::vector<int> devices;  ///< positions
};

/// A switch with what hangs below it.
struct Branch {
    int pcie_switch = 0;
    std::vector<Branch> branches;
    std::vector<Leaf> leaves;
};

/// A NUMA node with what hangs below it; or what hangs nobody knows where.
struct Column {
    std::optional<int> numa_node;  ///< the system's number
    CoreSet cores;
    Bytes memory;
    std::vector<Branch> branches;
    std::vector<Leaf> leaves;
};

/// Of one package, or of none. Columns of no package stand last.
struct ColumnGroup {
    std::string title;
    std::vector<Column> columns;
};

/// All of a host but its NVSwitches, and its memory without cores where nothing hangs there.
std::vector<ColumnGroup> columns_of(const Host& host);

/// How many leaves hang below, at least one; how many switches are passed at most.
int leaves_below(const Branch& branch);
int leaves_below(const Column& column);
int depth_below(const Branch& branch);
int depth_below(const Column& column);

}  // namespace tutti
