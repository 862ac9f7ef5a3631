// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "collectives/formats/format_writers.hpp"

namespace tutti {

// A row for each step and a column for each rank; transfers lead from one row to the next.
std::vector<ExportedFile> dot_graph(const ExportedSchedule& exported) {
    const Schedule& schedule = exported.schedule;
    std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", exported.name);
    auto out = std::back_inserter(text);
    for (int step = 0; step <= schedule.steps(); ++step) {
        text += "  {rank=same;";
        for (Rank rank : all_ranks(schedule.ranks()))
            fmt::format_to(out, " r{0}s{1} [label=\"rank {0}\"];", rank.index, step);
        text += "}\n";
        if (step == schedule.steps()) break;
        for (Rank rank : all_ranks(schedule.ranks()))
            fmt::format_to(out,
                           "  r{0}s{1} -> r{0}s{2} [style=dotted, arrowhead=none, weight=9];\n",
                           rank.index, step, step + 1);
        schedule.visit(step, [&](const Transfer& t) {
            const int last = t.chunks.first + t.chunks.count - 1;
            fmt::format_to(out, "  r{}s{} -> r{}s{} [label=\"{}{}\"{}];\n", t.from.index, step,
                           t.to.index, step + 1, t.chunks.first,
                           t.chunks.count > 1 ? fmt::format("..{}", last) : "",
                           t.action == Action::reduce ? ", style=bold" : "");
        });
    }
    return {{.name_end = "", .text = text + "}\n"}};
}

}  // namespace tutti
