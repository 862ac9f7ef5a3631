// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "topology/draw/draw.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/draw/svg_host.hpp"

namespace tutti {
namespace {

constexpr std::string_view styles = R"(
text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:11px;fill:#1f2933}
.title{font-size:18px;font-weight:600}.bold{font-weight:600;font-size:12px}.small{fill:#3e4c59}
.number{fill:#52606d;font-size:10.5px}.lost{fill:#c2410c;font-weight:600}.note{fill:#7b8794;font-style:italic}
.host{fill:#fcfcfd;stroke:#cbd2d9}.package{fill:#eef2f6;stroke:#9aa5b1}
.node{fill:#fff;stroke:#7b8794}.nowhere{stroke-dasharray:4 3}
.core{fill:#829ab1}.odd{fill:#bcccdc}
.switch{fill:#f0e6d2;stroke:#b08d57}.gpu{fill:#d9f2dc;stroke:#2f8132}.nic{fill:#dbeafe;stroke:#2b6cb0}
.nvswitch{fill:#2f8132;stroke:none}.nvswitch+text{fill:#fff}
line,path{fill:none}.pcie{stroke:#9a8c73}.socket{stroke:#9aa5b1}.network{stroke:#2b6cb0}
.link{stroke:#2f8132}.shade0{stroke:#c3e6cb}.shade1{stroke:#8fce9b}.shade2{stroke:#4fa65a}
.shade3{stroke:#1e6b2b}path:hover{stroke:#e8590c}
)";

// "1 to 1.2 GB/s, 20 to 30 us"; empty where nobody has measured.
std::string network_text(const Machine& machine) {
    if (machine.network.empty()) return "";
    const auto [slow, fast] =
        std::ranges::minmax(machine.network, {}, &NetworkLink::bandwidth_GBps);
    const auto [near, far] = std::ranges::minmax(machine.network, {}, &NetworkLink::microseconds);
    const auto range = [](double low, double high) {
        const std::string a = fmt::format("{:.3g}", low), b = fmt::format("{:.3g}", high);
        return a == b ? a : a + " to " + b;
    };
    return fmt::format(": {} GB/s each way, {} us", range(slow.bandwidth_GBps, fast.bandwidth_GBps),
                       range(near.microseconds, far.microseconds));
}

}  // namespace

std::string to_svg(const Machine& machine) {
    constexpr double gap = 24, network_height = 30;
    SvgCanvas canvas;
    double x = gap, lowest = 0;
    std::vector<Box> cards;
    for (const std::vector<int>& alike : alike_hosts(machine)) {
        const Host& host = at(machine.hosts, alike.front());
        const Drawing drawing = draw_host(host, names_of_alike(machine, alike));
        const Box card{x, gap, drawing.width, drawing.height};
        canvas.rectangle(card, "host", 10);
        canvas.add(drawing.canvas, {card.x, card.y});
        cards.push_back(card);
        lowest = std::max(lowest, card.bottom());
        x = card.right() + gap;
    }
    if (machine.hosts.size() > 1) {
        const Box bar{gap, lowest + 30, x - 2 * gap, network_height};
        for (const Box& card : cards)
            canvas.line({card.middle(), card.bottom()}, {card.middle(), bar.y}, "network", 4);
        canvas.rectangle(bar, "nic", 8);
        canvas.text(
            {bar.middle(), bar.y + 19},
            fmt::format("network of {} hosts{}", machine.hosts.size(), network_text(machine)),
            "bold", Anchor::middle, bar.width);
        lowest = bar.bottom();
    }
    return canvas.page(x, lowest + gap, styles);
}

}  // namespace tutti
