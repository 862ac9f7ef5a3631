// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/source.hpp"

namespace tutti {
namespace {

std::string describe(Chunks chunks) {
    if (chunks.count == 1) return fmt::format("chunk {}", chunks.first);
    return fmt::format("chunks {}..{}", chunks.first, chunks.first + chunks.count - 1);
}

std::string short_name(Chunks chunks) {
    if (chunks.count == 1) return fmt::format("{}", chunks.first);
    return fmt::format("{}-{}", chunks.first, chunks.first + chunks.count - 1);
}

struct Place {
    double x, y;
};

// Titles come from programs: bytes that may not be UTF-8 become '?'.
std::string svg_text(Place at, std::string text, std::string_view style, std::string_view anchor) {
    std::ranges::replace_if(
        text, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
    return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>)"
                       "\n",
                       at.x, at.y, style, anchor, xml_escaped(text));
}

std::string svg_line(Place from, Place to, std::string_view style, double width,
                     std::string_view more = "") {
    return fmt::format(
        R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}" stroke-width="{:.1f}"{}/>)"
        "\n",
        from.x, from.y, to.x, to.y, style, width, more);
}

std::string arrow_head(std::string_view style, std::string_view colour) {
    return fmt::format(
        R"(<marker id="{}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{}"/></marker>)",
        style, colour);
}

constexpr std::string_view styles =
    "text{font:12px sans-serif;fill:#000}text.title{font:bold 14px sans-serif}"
    ".rank{stroke:#bbb}text.step{fill:#666}text.note{font-size:11px;fill:#666}"
    ".copy{stroke:#0072b2}.reduce{stroke:#d55e00}.label{font-size:11px;"
    "paint-order:stroke;stroke:#fff;stroke-width:4px}"
    "text.copies,.copies{fill:#0072b2}text.reduces,.reduces{fill:#d55e00}";

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
                               describe(t.chunks), t.action == Action::reduce ? "reduce" : "copy");
        });
    }
    return text;
}

// Programs draw schedules without Python, so this picture is written here.
std::string as_svg(const Schedule& schedule, const std::string& title) {
    constexpr int column = 90, row = 64, top = 84, left = 60;
    const int width = left + column * (schedule.ranks() - 1) + 60;
    const int height = top + row * schedule.steps() + 30;
    const auto x_of = [&](Rank rank) { return double(left + column * rank.index); };
    const auto y_of = [&](int step) { return double(top + row * step); };

    std::string body = svg_text({12, 22}, title, "title", "start") +
                       svg_text({12, 38}, "numbers: chunks; steps go down;", "note", "start") +
                       svg_text({180, 38}, "reduce", "reduces note", "start") +
                       svg_text({225, 38}, "copy", "copies note", "start");
    for (const Rank rank : all_ranks(schedule.ranks())) {
        body += svg_text({x_of(rank), top - 20}, fmt::format("rank {}", rank.index), "", "middle");
        body += svg_line({x_of(rank), top - 10}, {x_of(rank), height - 10.0}, "rank", 1);
    }
    for (int step = 0; step < schedule.steps(); ++step) {
        body += svg_text({8, y_of(step) + 28}, std::to_string(step), "step", "start");
        schedule.visit(step, [&](const Transfer& t) {
            const bool adds = t.action == Action::reduce;
            const Place from{x_of(t.from), y_of(step)}, to{x_of(t.to), y_of(step) + row - 14};
            if (t.from == t.to) {
                body += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4.0" class="{}"/>)"
                                    "\n",
                                    from.x, from.y, adds ? "reduces" : "copies");
                return;
            }
            const std::string style = adds ? "reduce" : "copy";
            body += svg_line(from, to, style, 1.5,
                             fmt::format(R"svg( marker-end="url(#{})")svg", style));
            // Place the label near the start of the arrow, where arrows of an exchange do not
            // cross.
            body +=
                svg_text({from.x + (to.x - from.x) / 5, from.y + (to.y - from.y) / 5 + 4},
                         short_name(t.chunks), adds ? "reduces label" : "copies label", "middle");
        });
    }
    return fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">)"
        "\n<style>{2}</style>\n<defs>{3}{4}</defs>\n"
        R"(<rect width="100%" height="100%" fill="#fff"/>)"
        "\n{5}</svg>\n",
        width, height, styles, arrow_head("copy", "#0072b2"), arrow_head("reduce", "#d55e00"),
        body);
}

}  // namespace tutti
