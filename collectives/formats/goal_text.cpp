// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "collectives/formats/format_writers.hpp"
#include "collectives/formats/simulated_nodes.hpp"

namespace tutti {

std::vector<ExportedFile> goal_text(const ExportedSchedule& exported) {
    const auto ranks = simulated_nodes(exported);
    std::string text = fmt::format("num_ranks {}\n", ranks.size());
    auto out = std::back_inserter(text);
    int rank = 0;
    for (const std::vector<SimulatedNode>& nodes : ranks) {
        fmt::format_to(out, "\nrank {} {{\n", rank++);
        int number = 0;
        for (const SimulatedNode& node : nodes) {
            fmt::format_to(out, "l{}: ", number);
            switch (node.kind) {
                case SimulatedNode::Kind::send:
                    fmt::format_to(out, "send {}b to {} tag {}\n", node.bytes, node.peer, node.tag);
                    break;
                case SimulatedNode::Kind::receive:
                    fmt::format_to(out, "recv {}b from {} tag {}\n", node.bytes, node.peer,
                                   node.tag);
                    break;
                case SimulatedNode::Kind::compute:
                    fmt::format_to(out, "calc {}\n", time_of(exported, node.bytes).count());
                    break;
            }
            for (const int before : node.after)
                fmt::format_to(out, "l{} requires l{}\n", number, before);
            ++number;
        }
        text += "}\n";
    }
    return {{.name_end = "", .text = std::move(text)}};
}

}  // namespace tutti
