// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "base/svg_canvas.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// A drawing with its size.
struct Drawing {
    SvgCanvas canvas;
    double width = 0, height = 0;
};

/// One host under the given title.
Drawing draw_host(const Host& host, const std::string& title);

/// Where things are that links join.
struct LinkPlaces {
    std::map<int, Box> devices;     ///< by position
    std::map<int, Box> numa_nodes;  ///< by the system's number
    double left = 0, right = 0;     ///< of the drawing
    double bottom = 0;              ///< of the row of devices
};

/// Draws what joins GPUs beside PCIe below them; gives the lowest point used. Links to processors
/// are drawn by `draw_links_upwards`, before the boxes that they pass behind.
double draw_links(SvgCanvas& canvas, const Host& host, const LinkPlaces& places);
void draw_links_upwards(SvgCanvas& canvas, const Host& host, const LinkPlaces& places);

/// Width of a line that stands for so many GB/s.
double line_width(double bandwidth_GBps);

}  // namespace tutti
