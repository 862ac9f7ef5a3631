// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/numa_nodes.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace tutti {

std::string numa_kind(std::string_view subtype) {
    return std::string(subtype == "DRAM" ? "" : subtype);
}

void give_each_core_one_node(std::vector<NumaNode>& nodes) {
    std::vector<NumaNode*> sequence;
    for (NumaNode& node : nodes) sequence.push_back(&node);
    std::ranges::stable_sort(sequence, {}, [](const NumaNode* node) {
        return std::tuple(!node->kind.empty(), node->cores.size(), node->os_index);
    });
    std::set<int> taken;
    for (NumaNode* node : sequence)
        std::erase_if(node->cores, [&](int core) { return !taken.insert(core).second; });
}

}  // namespace tutti
