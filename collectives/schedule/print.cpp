// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/print.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace tutti {
namespace {

std::string describe(Chunks chunks) {
    if (chunks.count == 1) return fmt::format("chunk {}", chunks.first);
    return fmt::format("chunks {}..{}", chunks.first, chunks.first + chunks.count - 1);
}

std::string_view name_of(Action action) { return action == Action::reduce ? "reduce" : "copy"; }

}  // namespace

std::string in_words(const Schedule& schedule) {
    std::string text;
    auto out = std::back_inserter(text);
    for (int step = 0; step < schedule.steps(); ++step) {
        fmt::format_to(out, "step {}\n", step);
        schedule.visit(step, [&](const Transfer& t) {
            if (t.from == t.to)
                fmt::format_to(out, "  rank {} takes its own {}\n", t.to.index, describe(t.chunks));
            else
                fmt::format_to(out, "  rank {} -> rank {}  {} ({})\n", t.from.index, t.to.index,
                               describe(t.chunks), name_of(t.action));
        });
    }
    return text;
}

// Written without the JSON library, which builds of the core alone do not have.
std::string to_json(const Schedule& schedule) {
    std::string text;
    auto out = std::back_inserter(text);
    fmt::format_to(out, R"({{"ranks":{},"chunks":{},"steps":[)", schedule.ranks(),
                   schedule.chunks());
    for (int step = 0; step < schedule.steps(); ++step) {
        text += step == 0 ? "[" : ",[";
        schedule.visit(step, [&](const Transfer& t) {
            if (text.back() == '}') text += ',';
            fmt::format_to(
                out, R"({{"from":{},"to":{},"first_chunk":{},"chunks":{},"action":"{}"}})",
                t.from.index, t.to.index, t.chunks.first, t.chunks.count, name_of(t.action));
        });
        text += ']';
    }
    return text + "]}";
}

}  // namespace tutti
