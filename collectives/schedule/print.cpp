// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/print.hpp"

#include <fmt/format.h>

#include <iterator>

namespace tutti {
namespace {

std::string chunks_in_words(Chunks chunks) {
    if (chunks.count == 1) return fmt::format("chunk {}", chunks.first);
    return fmt::format("chunks {}..{}", chunks.first, chunks.first + chunks.count - 1);
}

std::string chunks_in_short(Chunks chunks) {
    if (chunks.count == 1) return fmt::format("{}", chunks.first);
    return fmt::format("{}-{}", chunks.first, chunks.first + chunks.count - 1);
}

}  // namespace

std::string in_words(const Schedule& schedule) {
    std::string text;
    auto out = std::back_inserter(text);
    for (int step = 0; step < schedule.steps(); ++step) {
        fmt::format_to(out, "step {}\n", step);
        schedule.visit(step, [&](const Transfer& t) {
            if (t.from == t.to)
                fmt::format_to(out, "  rank {} takes its own {}\n", t.to.index,
                               chunks_in_words(t.chunks));
            else
                fmt::format_to(out, "  rank {} -> rank {}  {} ({})\n", t.from.index, t.to.index,
                               chunks_in_words(t.chunks),
                               t.action == Action::reduce ? "reduce" : "copy");
        });
    }
    return text;
}

std::string as_svg(const Schedule& schedule, const std::string& title) {
    constexpr int column = 90, row = 64, top = 84, left = 60;
    const int width = left + column * (schedule.ranks() - 1) + 60;
    const int height = top + row * schedule.steps() + 30;
    const auto x_of = [&](Rank rank) { return left + column * rank.index; };
    const auto y_of = [&](int step) { return top + row * step; };

    std::string svg;
    auto out = std::back_inserter(svg);
    fmt::format_to(
        out,
        R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">)svg"
        "\n"
        R"svg(<defs><marker id="copy" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#0072b2"/></marker>)svg"
        R"svg(<marker id="reduce" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#d55e00"/></marker></defs>)svg"
        "\n"
        R"svg(<rect width="100%" height="100%" fill="white"/>)svg"
        "\n"
        R"svg(<text x="{2}" y="22" font-size="14" font-weight="bold">{3}</text>)svg"
        R"svg(<text x="{2}" y="38" font-size="11" fill="#666">numbers: chunks; <tspan fill="#d55e00">reduce</tspan>, <tspan fill="#0072b2">copy</tspan>; steps go down</text>)svg"
        "\n",
        width, height, 12, title);
    for (Rank rank : all_ranks(schedule.ranks()))
        fmt::format_to(out,
                       R"svg(<text x="{0}" y="{1}" text-anchor="middle">rank {2}</text>)svg"
                       R"svg(<line x1="{0}" y1="{3}" x2="{0}" y2="{4}" stroke="#bbb"/>)svg"
                       "\n",
                       x_of(rank), top - 20, rank.index, top - 10, height - 10);
    for (int step = 0; step < schedule.steps(); ++step) {
        fmt::format_to(out,
                       R"svg(<text x="8" y="{}" fill="#666">{}</text>)svg"
                       "\n",
                       y_of(step) + 28, step);
        schedule.visit(step, [&](const Transfer& t) {
            const char* kind = t.action == Action::reduce ? "reduce" : "copy";
            const char* colour = t.action == Action::reduce ? "#d55e00" : "#0072b2";
            const int x1 = x_of(t.from), y1 = y_of(step), x2 = x_of(t.to),
                      y2 = y_of(step) + row - 14;
            if (t.from == t.to) {
                fmt::format_to(out,
                               R"svg(<circle cx="{}" cy="{}" r="4" fill="{}"/>)svg"
                               "\n",
                               x1, y1, colour);
                return;
            }
            // The label sits near the arrow's begin, where arrows of an exchange do not cross.
            fmt::format_to(
                out,
                R"svg(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="1.5" marker-end="url(#{})"/>)svg"
                R"svg(<text x="{}" y="{}" fill="{}" font-size="11" text-anchor="middle" paint-order="stroke" stroke="white" stroke-width="4">{}</text>)svg"
                "\n",
                x1, y1, x2, y2, colour, kind, x1 + (x2 - x1) / 5, y1 + (y2 - y1) / 5 + 4, colour,
                chunks_in_short(t.chunks));
        });
    }
    svg += "</svg>\n";
    return svg;
}

}  // namespace tutti
