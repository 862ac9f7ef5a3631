// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/print.hpp"

#include <fmt/format.h>

#include <iterator>

#include "base/svg_canvas.hpp"

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

std::string as_svg(const Schedule& schedule, const std::string& title) {
    constexpr int column = 90, row = 64, top = 84, left = 60;
    constexpr ArrowHead copy{"copy", "#0072b2"}, reduce{"reduce", "#d55e00"};
    const int width = left + column * (schedule.ranks() - 1) + 60;
    const int height = top + row * schedule.steps() + 30;
    const auto x_of = [&](Rank rank) { return double(left + column * rank.index); };
    const auto y_of = [&](int step) { return double(top + row * step); };

    SvgCanvas canvas;
    canvas.text({12, 22}, title, "title", Anchor::start);
    canvas.text({12, 38}, "numbers: chunks; steps go down;", "note", Anchor::start);
    canvas.text({180, 38}, "reduce", "reduces note", Anchor::start);
    canvas.text({225, 38}, "copy", "copies note", Anchor::start);
    for (const Rank rank : all_ranks(schedule.ranks())) {
        canvas.text({x_of(rank), top - 20}, fmt::format("rank {}", rank.index), "", Anchor::middle);
        canvas.line({x_of(rank), top - 10}, {x_of(rank), height - 10.0}, "rank", 1);
    }
    for (int step = 0; step < schedule.steps(); ++step) {
        canvas.text({8, y_of(step) + 28}, std::to_string(step), "step", Anchor::start);
        schedule.visit(step, [&](const Transfer& t) {
            const bool adds = t.action == Action::reduce;
            const Point2 from{x_of(t.from), y_of(step)}, to{x_of(t.to), y_of(step) + row - 14};
            if (t.from == t.to) return canvas.dot(from, 4, adds ? "reduces" : "copies");
            canvas.arrow(from, to, adds ? reduce.style : copy.style, 1.5);
            // Place the label near the start of the arrow, where arrows of an exchange do not
            // cross.
            canvas.text({from.x + (to.x - from.x) / 5, from.y + (to.y - from.y) / 5 + 4},
                        short_name(t.chunks), adds ? "reduces label" : "copies label",
                        Anchor::middle);
        });
    }
    return canvas.page(width, height,
                       "text{font:12px sans-serif;fill:#000}text.title{font:bold 14px sans-serif}"
                       ".rank{stroke:#bbb}text.step{fill:#666}text.note{font-size:11px;fill:#666}"
                       ".copy{stroke:#0072b2}.reduce{stroke:#d55e00}.label{font-size:11px;"
                       "paint-order:stroke;stroke:#fff;stroke-width:4px}"
                       "text.copies,.copies{fill:#0072b2}text.reduces,.reduces{fill:#d55e00}",
                       {copy, reduce});
}

}  // namespace tutti
