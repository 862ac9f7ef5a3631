// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/index.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/draw/svg_host.hpp"

namespace tutti {
namespace {

constexpr double below_devices = 56, bar_height = 28;

// Wider links are darker too.
std::string style_of(const LinkSum& sum, const std::set<double>& bandwidths) {
    const auto place = std::distance(bandwidths.begin(), bandwidths.find(sum.bandwidth_GBps));
    const auto steps = static_cast<std::ptrdiff_t>(bandwidths.size());
    return fmt::format("link shade{}", 3 - std::min<std::ptrdiff_t>(steps - 1 - place, 3));
}

/// Where on the lower edge of a GPU the arcs to its peers begin: the nearest peer outermost, so
/// that arcs to one side do not cross.
class Outlets {
public:
    Outlets(const LinkSummary& links, const LinkPlaces& places) : places_(places) {
        for (const auto& [pair, sum] : links.pairs) {
            if (!places.devices.contains(pair.first) || !places.devices.contains(pair.second))
                continue;
            peers_[pair.first].push_back(pair.second);
            peers_[pair.second].push_back(pair.first);
        }
        for (auto& [gpu, peers] : peers_) {
            const double x = places.devices.at(gpu).x;
            const auto key = [&](int peer) {
                const double distance = places.devices.at(peer).x - x;
                return std::pair(distance > 0, distance < 0 ? -distance : -distance);
            };
            std::ranges::sort(peers, {}, key);
        }
    }

    Point2 of(int gpu, int peer) const {
        const Box& box = places_.devices.at(gpu);
        const auto& peers = peers_.at(gpu);
        const auto place = std::ranges::find(peers, peer) - peers.begin();
        const double share = static_cast<double>(place + 1) / static_cast<double>(peers.size() + 1);
        return {box.x + box.width * share, box.bottom()};
    }

private:
    const LinkPlaces& places_;
    std::map<int, std::vector<int>> peers_;
};

double draw_arcs(SvgCanvas& canvas, const Host& host, const LinkSummary& links,
                 const LinkPlaces& places) {
    const std::vector<std::string> labels = device_labels(host);
    const Outlets outlets(links, places);
    std::set<double> bandwidths;
    std::map<double, int> counts;  // of links that make up a bandwidth
    for (const auto& [pair, sum] : links.pairs) {
        bandwidths.insert(sum.bandwidth_GBps);
        counts[sum.bandwidth_GBps] = sum.count;
    }
    double lowest = 0;
    for (const auto& [pair, sum] : links.pairs) {
        const auto& [a, b] = pair;
        if (!places.devices.contains(a) || !places.devices.contains(b)) continue;
        const Point2 from = outlets.of(a, b), to = outlets.of(b, a);
        const double depth = 16 + 60 * std::log2(1 + std::abs(to.x - from.x) / 160);
        canvas.arc(from, to, depth, style_of(sum, bandwidths), line_width(sum.bandwidth_GBps),
                   fmt::format("{} and {}: {} links, {} GB/s each way", at(labels, a),
                               at(labels, b), sum.count, in_GBps(sum.bandwidth_GBps)));
        lowest = std::max(lowest, from.y + depth);
    }
    double x = places.left;
    const double y = lowest + 26;
    canvas.text({x, y + 4}, names_of(links.kinds) + ":", "bold", Anchor::start);
    x += 20 + 7 * static_cast<double>(names_of(links.kinds).size());
    for (const double bandwidth_GBps : bandwidths) {
        const LinkSum sum{counts[bandwidth_GBps], bandwidth_GBps};
        canvas.line({x, y}, {x + 36, y}, style_of(sum, bandwidths), line_width(bandwidth_GBps));
        const std::string text = fmt::format("{} GB/s ({} link{})", in_GBps(bandwidth_GBps),
                                             sum.count, sum.count == 1 ? "" : "s");
        canvas.text({x + 44, y + 4}, text, "small", Anchor::start);
        x += 64 + 6.2 * static_cast<double>(text.size());
    }
    return y + 10;
}

// "18 links from GPU0-GPU6; none from GPU7"
std::string who_has_how_many(const LinkSummary& links, const std::vector<AlikeGpus>& groups,
                             const std::vector<std::string>& labels) {
    std::string text;
    for (const auto& [sum, gpus] : groups)
        text += fmt::format("{}{} link{} from {}", text.empty() ? "" : "; ", sum.count,
                            sum.count == 1 ? "" : "s", in_spans(gpus, labels));
    if (!links.without.empty()) text += "; none from " + in_spans(links.without, labels);
    return text;
}

// Where the links of others begin.
void mark_gpus_without(SvgCanvas& canvas, const LinkSummary& links, const LinkPlaces& places) {
    for (const int gpu : links.without)
        if (const auto place = places.devices.find(gpu); place != places.devices.end())
            canvas.text({place->second.middle(), place->second.bottom() + 15},
                        "no " + names_of(links.kinds), "lost", Anchor::middle);
}

double draw_switches(SvgCanvas& canvas, const LinkSummary& links,
                     const std::vector<std::string>& labels, const LinkPlaces& places, double y) {
    double left = 0, right = 0, bottom = 0;
    for (const auto& [gpu, sum] : links.to_switches) {
        const auto place = places.devices.find(gpu);
        if (place == places.devices.end()) continue;
        const Box& box = place->second;
        left = right > 0 ? std::min(left, box.x) : box.x;
        right = std::max(right, box.right());
        bottom = box.bottom();
    }
    const Box bar{left, std::max(y, bottom) + below_devices, right - left, bar_height};
    const std::vector<AlikeGpus> groups = alike_at_switches(links);
    const LinkSum most = std::ranges::max(groups, {}, [](const AlikeGpus& group) {
                             return group.sum.bandwidth_GBps;
                         }).sum;
    for (const auto& [gpu, sum] : links.to_switches) {
        const auto place = places.devices.find(gpu);
        if (place == places.devices.end()) continue;
        const double x = place->second.middle(), width = line_width(sum.bandwidth_GBps);
        canvas.line({x, place->second.bottom()}, {x, bar.y}, "link shade3", width);
        canvas.text({x + width / 2 + 5, bar.y - 20}, in_GBps(sum.bandwidth_GBps),
                    sum == most ? "number" : "number lost", Anchor::start);
    }
    canvas.rectangle(bar, "nvswitch", 6);
    const std::size_t count = links.nvswitches.size();
    std::string text = fmt::format("{}NVSwitch{}", count > 1 ? fmt::format("{} ", count) : "",
                                   count > 1 ? "es" : "");
    const bool alike = groups.size() == 1 && links.without.empty();
    if (alike)
        text += fmt::format(", {} links from each GPU, {} GB/s each way", most.count,
                            in_GBps(most.bandwidth_GBps));
    canvas.text({bar.middle(), bar.y + 18}, text, "bold", Anchor::middle, bar.width);
    if (alike) return bar.bottom() + 10;
    canvas.text({places.left, bar.bottom() + 16}, who_has_how_many(links, groups, labels), "lost",
                Anchor::start, places.right - places.left);
    return bar.bottom() + 26;
}

}  // namespace

double draw_links(SvgCanvas& canvas, const Host& host, const LinkPlaces& places) {
    const LinkSummary links = summary_of_links(host);
    double y = places.bottom;
    for (const auto& [device, box] : places.devices) y = std::max(y, box.bottom());
    y += 10;
    if (!links.pairs.empty()) y = draw_arcs(canvas, host, links, places);
    if (!links.to_switches.empty())
        y = draw_switches(canvas, links, device_labels(host), places, y - 10);
    mark_gpus_without(canvas, links, places);
    return y;
}

void draw_links_upwards(SvgCanvas& canvas, const Host& host, const LinkPlaces& places) {
    for (const auto& [ends, sum] : summary_of_links(host).to_nodes) {
        const auto gpu = places.devices.find(ends.first);
        const auto node = places.numa_nodes.find(ends.second);
        if (gpu == places.devices.end() || node == places.numa_nodes.end()) continue;
        const Box& box = gpu->second;
        // Beside the PCIe line; to a node that stands elsewhere it goes aslant.
        const double x = box.x + box.width * 0.2, width = line_width(sum.bandwidth_GBps);
        const double top = std::clamp(x, node->second.x + 4, node->second.right() - 4);
        canvas.line({x, box.y}, {top, node->second.bottom()}, "link shade3", width);
        canvas.text({x - width / 2 - 3, box.y - 6}, in_GBps(sum.bandwidth_GBps), "number",
                    Anchor::end);
    }
}

}  // namespace tutti
