// SPDX-License-Identifier: Apache-2.0
#include "base/svg_canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace tutti {
namespace {

struct Entity {
    char character;
    std::string_view name;
};
constexpr Entity entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};

// Names come from outside: what XML forbids is left out, also bytes that are no ASCII where they
// are not part of our own texts.
std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        const auto* const entity = std::ranges::find(entities, c, &Entity::character);
        if (entity != std::end(entities))
            safe += entity->name;
        else
            safe += c < 0x20 || c > 0x7e ? '?' : c;
    }
    return safe;
}

std::string tip_of(std::string_view tip) {
    return tip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tip));
}

// Letters of the common fonts are on average a little wider than half their height of 11.
constexpr double letter = 6.4;

std::string_view cut(std::string_view text, double room) {
    const auto letters = static_cast<std::size_t>(room / letter);
    return room > 0 && text.size() > letters ? text.substr(0, letters) : text;
}

std::string_view name_of(Anchor anchor) {
    return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

}  // namespace

void SvgCanvas::rectangle(const Box& box, std::string_view style, double rounding,
                          std::string_view tip) {
    body_ += fmt::format(
        R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{}" class="{}">{}</rect>)"
        "\n",
        box.x, box.y, box.width, box.height, rounding, style, tip_of(tip));
}

void SvgCanvas::line(Point2 from, Point2 to, std::string_view style, double width) {
    body_ += fmt::format(
        R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}" stroke-width="{:.1f}"/>)"
        "\n",
        from.x, from.y, to.x, to.y, style, width);
}

void SvgCanvas::arrow(Point2 from, Point2 to, std::string_view style, double width) {
    body_ += fmt::format(
        R"svg(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}" stroke-width="{:.1f}" marker-end="url(#{})"/>)svg"
        "\n",
        from.x, from.y, to.x, to.y, style, width, style);
}

void SvgCanvas::dot(Point2 middle, double radius, std::string_view style) {
    body_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" class="{}"/>)"
                         "\n",
                         middle.x, middle.y, radius, style);
}

void SvgCanvas::arc(Point2 from, Point2 to, double depth, std::string_view style, double width,
                    std::string_view tip) {
    // A cubic curve goes three quarters of the way to its two inner points.
    const double down = depth * 4 / 3;
    body_ += fmt::format(
        R"(<path d="M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}" class="{}" stroke-width="{:.1f}">{}</path>)"
        "\n",
        from.x, from.y, from.x, from.y + down, to.x, to.y + down, to.x, to.y, style, width,
        tip_of(tip));
}

void SvgCanvas::text(Point2 at, std::string_view text, std::string_view style, Anchor anchor,
                     double room) {
    body_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>)"
                         "\n",
                         at.x, at.y, style, name_of(anchor), escaped(cut(text, room)));
}

void SvgCanvas::add(const SvgCanvas& other, Point2 offset) {
    body_ += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", offset.x, offset.y,
                         other.body_);
}

std::string SvgCanvas::page(double width, double height, std::string_view styles,
                            std::initializer_list<ArrowHead> heads) const {
    std::string markers;
    for (const ArrowHead& head : heads)
        markers += fmt::format(
            R"(<marker id="{}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{}"/></marker>)",
            head.style, head.colour);
    if (!markers.empty()) markers = fmt::format("<defs>{}</defs>\n", markers);
    return fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}">)"
        "\n<style>{2}</style>\n{3}"
        R"(<rect width="100%" height="100%" fill="#fff"/>)"
        "\n{4}</svg>\n",
        width, height, styles, markers, body_);
}

std::vector<std::string> wrapped(std::string_view text, double room) {
    std::vector<std::string> lines(1);
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
        const auto letters = lines.back().size() + 1 + word.size();
        if (!lines.back().empty() && static_cast<double>(letters) * letter > room)
            lines.emplace_back();
        lines.back() += (lines.back().empty() ? "" : " ") + word;
    }
    return lines;
}

}  // namespace tutti
