// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

struct Point2 {
    double x = 0, y = 0;
};

struct Box {
    double x = 0, y = 0, width = 0, height = 0;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
    double middle() const { return x + width / 2; }
};

/// Where a text has its point.
enum class Anchor { start, middle, end };

/// Of the arrows of one style.
struct ArrowHead {
    std::string_view style;
    std::string_view colour;
};

/// Shapes in the order in which they are drawn, as SVG. Looks come from style classes.
class SvgCanvas {
public:
    void rectangle(const Box& box, std::string_view style, double rounding = 4,
                   std::string_view tip = "");
    void line(Point2 from, Point2 to, std::string_view style, double width);
    /// A line with a head, which page() defines for its style.
    void arrow(Point2 from, Point2 to, std::string_view style, double width);
    void dot(Point2 middle, double radius, std::string_view style);
    /// From one point to another, sagging by `depth` below them.
    void arc(Point2 from, Point2 to, double depth, std::string_view style, double width,
             std::string_view tip);
    /// `room`: what does not fit in so many units is cut; 0: all.
    void text(Point2 at, std::string_view text, std::string_view style, Anchor anchor,
              double room = 0);

    void add(const SvgCanvas& other, Point2 offset);

    /// The whole picture on white; `styles` is CSS.
    std::string page(double width, double height, std::string_view styles,
                     std::initializer_list<ArrowHead> heads = {}) const;

private:
    std::string body_;
};

/// The text in lines of at most `room` units, as far as its words allow.
std::vector<std::string> wrapped(std::string_view text, double room);

}  // namespace tutti
