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

// Returns `before` and the way, and nothing for a rank's own chunks.
std::string way_in_words(const WayOf& way_of, const Transfer& transfer, std::string_view before,
                         std::string_view after) {
    if (!way_of || transfer.from == transfer.to) return "";
    return fmt::format("{}{}{}", before, way_of(transfer), after);
}

}  // namespace

std::string in_words(const Schedule& schedule) { return in_words(schedule, {}); }
std::string to_json(const Schedule& schedule) { return to_json(schedule, {}); }

std::string in_words(const Schedule& schedule, const WayOf& way_of) {
    std::string text;
    auto out = std::back_inserter(text);
    for (int step = 0; step < schedule.steps(); ++step) {
        fmt::format_to(out, "step {}\n", step);
        schedule.visit(step, [&](const Transfer& t) {
            if (t.from == t.to)
                fmt::format_to(out, "  rank {} takes its own {}\n", t.to.index, describe(t.chunks));
            else
                fmt::format_to(out, "  rank {} -> rank {}  {} ({}){}\n", t.from.index, t.to.index,
                               describe(t.chunks), name_of(t.action),
                               way_in_words(way_of, t, ", by ", ""));
        });
    }
    return text;
}

// Written without the JSON library, which builds of the core alone do not have.
std::string to_json(const Schedule& schedule, const WayOf& way_of) {
    std::string text;
    auto out = std::back_inserter(text);
    fmt::format_to(out, R"({{"ranks":{},"chunks":{},"steps":[)", schedule.ranks(),
                   schedule.chunks());
    for (int step = 0; step < schedule.steps(); ++step) {
        text += step == 0 ? "[" : ",[";
        schedule.visit(step, [&](const Transfer& t) {
            if (text.back() == '}') text += ',';
            fmt::format_to(out,
                           R"({{"from":{},"to":{},"first_chunk":{},"chunks":{},"action":"{}"{}}})",
                           t.from.index, t.to.index, t.chunks.first, t.chunks.count,
                           name_of(t.action), way_in_words(way_of, t, R"(,"way":")", R"(")"));
        });
        text += ']';
    }
    return text + "]}";
}

}  // namespace tutti
