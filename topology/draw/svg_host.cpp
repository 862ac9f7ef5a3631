// SPDX-License-Identifier: Apache-2.0
#include "topology/draw/svg_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "topology/draw/device_text.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/draw/svg_columns.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

constexpr double leaf_width = 104, leaf_height = 56, gap = 8, margin = 16;
constexpr double least_column = 176, between_columns = 14, between_groups = 64;
constexpr double switch_height = 20, level_height = 52, line_height = 15;

struct Grid {
    int across = 1, down = 1;
    double cell = 9;  // with its gap
};

// Cores as small squares: as many across as there is room, smaller where they are many.
Grid grid_of(std::size_t cores, double width) {
    Grid grid;
    const int count = std::max(static_cast<int>(cores), 1);
    grid.cell = count > 96 ? 7 : count > 32 ? 9 : 12;
    grid.across = std::clamp(static_cast<int>(width / grid.cell), 1, count);
    grid.down = divide_up(count, grid.across);
    return grid;
}

// For each core, which of the largest caches it shares.
std::map<int, int> last_cache_of_cores(const Host& host) {
    int last = 0;
    for (const Cache& cache : host.caches)
        if (cache.kind != CacheKind::instruction) last = std::max(last, cache.level);
    std::map<int, int> cache_of;
    int number = 0;
    for (const Cache& cache : host.caches) {
        if (cache.level != last || cache.kind == CacheKind::instruction) continue;
        for (const int core : cache.cores) cache_of[core] = number;
        ++number;
    }
    return cache_of;
}

std::string caches_text(const Host& host, const CoreSet& cores) {
    std::map<int, std::map<std::int64_t, int>, std::greater<>> levels;
    for (const Cache& cache : host.caches)
        if (cache.kind != CacheKind::instruction && cache.level >= 2 &&
            std::ranges::includes(cores, cache.cores))
            ++levels[cache.level][cache.size.count];
    std::string text;
    for (const auto& [level, sizes] : levels)
        for (const auto& [bytes, count] : sizes)
            text += fmt::format("{}L{} {}{}", text.empty() ? "" : ", ", level,
                                count > 1 ? fmt::format("{} x ", count) : "",
                                in_binary_units(Bytes{bytes}));
    return text;
}

class HostDrawing {
public:
    HostDrawing(const Host& host, std::string title)
        : host_(host),
          title_(std::move(title)),
          labels_(device_labels(host)),
          groups_(columns_of(host)),
          cache_of_(last_cache_of_cores(host)) {}

    Drawing draw() {
        lay_out();
        SvgCanvas links, boxes;
        draw_groups(boxes, links);
        draw_links_upwards(links, host_, places_);
        Drawing drawing;
        drawing.canvas.text({margin, 28}, title_, "title", Anchor::start);
        drawing.canvas.text({margin, 46}, subtitle(), "small", Anchor::start, width_ - 2 * margin);
        drawing.canvas.add(links, {});
        drawing.canvas.add(boxes, {});
        double y = draw_links(drawing.canvas, host_, places_);
        for (const std::string& note : host_.not_seen)
            for (const std::string& line : wrapped("not seen: " + note, width_ - 2 * margin))
                drawing.canvas.text({margin, y += line_height}, line, "note", Anchor::start);
        drawing.width = width_;
        drawing.height = y + margin;
        return drawing;
    }

private:
    double column_width(const Column& column) const {
        return std::max(least_column, leaves_below(column) * (leaf_width + gap) + gap);
    }

    double group_width(const ColumnGroup& group) const {
        double width = gap;
        for (const Column& column : group.columns) width += column_width(column) + gap;
        return width + (static_cast<double>(group.columns.size()) - 1) * (between_columns - gap);
    }

    void lay_out() {
        double width = 2 * margin - between_groups;
        int depth = 0, down = 1;
        double cell = 0;
        for (const ColumnGroup& group : groups_) {
            width += group_width(group) + between_groups;
            for (const Column& column : group.columns) {
                const Grid grid = grid_of(column.cores.size(), column_width(column) - 2 * gap);
                if (grid.down * grid.cell > down * cell) down = grid.down, cell = grid.cell;
                depth = std::max(depth, depth_below(column));
            }
        }
        width_ = std::max(width, 520.0);
        node_height_ = 3 * line_height + 10 + down * cell;
        groups_y_ = 62;
        nodes_y_ = groups_y_ + 24;
        devices_y_ = nodes_y_ + node_height_ + 8 + (depth + 1) * level_height - 12;
        places_.left = margin;
        places_.right = width_ - margin;
        places_.bottom = devices_y_;
    }

    std::string subtitle() const {
        std::size_t threads = 0;
        const Bytes memory = memory_of(host_);
        for (const Core& core : host_.cores) threads += core.threads.size();
        const auto gpus = std::ranges::count(host_.devices, DeviceKind::gpu, &Device::kind);
        const auto nics = std::ranges::count(host_.devices, DeviceKind::nic, &Device::kind);
        std::string text = fmt::format("{} cores, {} threads", host_.cores.size(), threads);
        if (memory.count > 0) text += ", " + in_binary_units(memory);
        if (gpus > 0) text += fmt::format(", {} GPU{}", gpus, gpus == 1 ? "" : "s");
        if (nics > 0) text += fmt::format(", {} NIC{}", nics, nics == 1 ? "" : "s");
        return text + "; numbers on lines are GB/s each way";
    }

    void draw_groups(SvgCanvas& canvas, SvgCanvas& links) {
        double x = margin;
        std::optional<Box> before;
        for (const ColumnGroup& group : groups_) {
            const Box box{x, groups_y_, group_width(group),
                          nodes_y_ - groups_y_ + node_height_ + 8};
            if (!group.title.empty()) {
                canvas.rectangle(box, "package", 8);
                canvas.text({x + gap, groups_y_ + 16}, group.title, "small", Anchor::start,
                            box.width - 2 * gap);
                if (before) draw_socket_link(links, *before, box);
                before = box;
            }
            double column_x = x + gap;
            for (const Column& column : group.columns) {
                draw_column(canvas, links, column, column_x);
                column_x += column_width(column) + between_columns;
            }
            x = box.right() + between_groups;
        }
    }

    void draw_socket_link(SvgCanvas& links, const Box& left, const Box& right) const {
        const double y = left.y + left.height / 2;
        links.line({left.right(), y}, {right.x, y}, "socket", 5);
        if (host_.cpu == CpuIdentity{}) return;
        links.text({(left.right() + right.x) / 2, y - 8}, in_GBps(socket_GBps(host_.cpu)), "number",
                   Anchor::middle);
    }

    void draw_column(SvgCanvas& canvas, SvgCanvas& links, const Column& column, double x) {
        const Box box{x, nodes_y_, column_width(column), node_height_};
        const double room = box.width - 2 * gap;
        canvas.rectangle(box, column.cores.empty() ? "node nowhere" : "node");
        std::string name = "NUMA node unknown";
        if (column.numa_node) name = fmt::format("NUMA node {}", *column.numa_node);
        if (column.memory.count > 0) name += ", " + in_binary_units(column.memory);
        double y = nodes_y_ + line_height;
        canvas.text({x + gap, y}, name, "bold", Anchor::start, room);
        if (!column.cores.empty()) {
            std::size_t threads = 0;
            for (const int core : column.cores)
                threads += host_.cores.at(as_size(core)).threads.size();
            canvas.text({x + gap, y += line_height},
                        fmt::format("{} cores, {} threads", column.cores.size(), threads), "small",
                        Anchor::start, room);
            canvas.text({x + gap, y += line_height}, caches_text(host_, column.cores), "small",
                        Anchor::start, room);
            draw_cores(canvas, column, {x + gap, y + 6}, room);
        }
        if (column.numa_node) places_.numa_nodes[*column.numa_node] = box;
        draw_below(canvas, links, column.branches, column.leaves, x + gap, box.bottom(), 0);
    }

    void draw_cores(SvgCanvas& canvas, const Column& column, Point2 at, double room) const {
        const Grid grid = grid_of(column.cores.size(), room);
        for (std::size_t i = 0; i < column.cores.size(); ++i) {
            const int core = column.cores[i];
            const auto cache = cache_of_.find(core);
            const bool odd = cache != cache_of_.end() && cache->second % 2 == 1;
            const int row = static_cast<int>(i) / grid.across,
                      place = static_cast<int>(i) % grid.across;
            canvas.rectangle(
                {at.x + place * grid.cell, at.y + row * grid.cell, grid.cell - 2, grid.cell - 2},
                odd ? "core odd" : "core", 1,
                fmt::format("core {}: cpu {}", core,
                            in_ranges(host_.cores.at(as_size(core)).threads)));
        }
    }

    // A switch is as wide as all that hangs below it, so that lines go straight down.
    void draw_below(SvgCanvas& canvas, SvgCanvas& links, const std::vector<Branch>& branches,
                    const std::vector<Leaf>& leaves, double x, double from_y, int level) {
        for (const Branch& branch : branches) {
            const PcieSwitch& part = at(host_.pcie_switches, branch.pcie_switch);
            const double width = leaves_below(branch) * (leaf_width + gap) - gap;
            const Box box{x, nodes_y_ + node_height_ + 8 + (level + 1) * level_height - 20, width,
                          switch_height};
            draw_pcie(links, part.link, {box.middle(), from_y}, box.y);
            canvas.rectangle(box, "switch", 4, part.pci_address + " " + part.pci_id);
            canvas.text({box.middle(), box.y + 14}, "PCIe switch", "small", Anchor::middle, width);
            draw_below(canvas, links, branch.branches, branch.leaves, x, box.bottom(), level + 1);
            x += width + gap;
        }
        for (const Leaf& leaf : leaves) {
            draw_leaf(canvas, links, leaf, {x, devices_y_, leaf_width, leaf_height}, from_y);
            x += leaf_width + gap;
        }
    }

    void draw_pcie(SvgCanvas& links, PcieLink link, Point2 from, double to_y) const {
        if (link == PcieLink{}) {
            links.line(from, {from.x, to_y}, "pcie", 1.5);
            return;
        }
        const double bandwidth_GBps = pcie_GBps(link);
        links.line(from, {from.x, to_y}, "pcie", line_width(bandwidth_GBps));
        links.text({from.x + 5 + line_width(bandwidth_GBps) / 2, to_y - 6}, in_GBps(bandwidth_GBps),
                   "number", Anchor::start);
    }

    void draw_leaf(SvgCanvas& canvas, SvgCanvas& links, const Leaf& leaf, const Box& box,
                   double from_y) {
        const auto index = as_size(leaf.devices.front());
        const Device& device = host_.devices[index];
        const bool is_gpu = device.kind == DeviceKind::gpu;
        if (device.model != virtual_interface)
            draw_pcie(links, device.link, {box.middle(), from_y}, box.y);
        std::string tip;
        for (const int one : leaf.devices) {
            const auto i = as_size(one);
            places_.devices[one] = box;
            tip += (tip.empty() ? "" : "; ") + labels_[i] + " " + host_.devices[i].pci_address +
                   " " + text_of(host_.devices[i]);
        }
        canvas.rectangle(box, is_gpu ? "gpu" : "nic", 6, tip);
        std::string label = labels_[index];
        if (leaf.devices.size() > 1)
            label += fmt::format(",{}", at(labels_, leaf.devices.back()).substr(3));
        canvas.text({box.middle(), box.y + 17}, label, "bold", Anchor::middle, box.width);
        const double room = box.width - 6;
        canvas.text({box.middle(), box.y + 33}, is_gpu ? model_text(device) : port_name(device),
                    "small", Anchor::middle, room);
        canvas.text({box.middle(), box.y + 48}, is_gpu ? device.pci_address : speeds_of(leaf),
                    "small", Anchor::middle, room);
    }

    // The maker's name says nothing new where the boxes are small.
    static std::string model_text(const Device& gpu) {
        std::string model = gpu.model.empty() ? gpu.pci_id : gpu.model;
        for (const std::string word : {"NVIDIA ", "Tesla ", "AMD ", "Instinct "})
            if (const auto place = model.find(word); place == 0) model.erase(0, word.size());
        return model;
    }

    static std::string port_name(const Device& nic) {
        if (!nic.ports.empty()) return nic.ports.front().name;
        return nic.names.empty() ? nic.pci_id : nic.names.front();
    }

    std::string speeds_of(const Leaf& leaf) const {
        std::map<double, int> speeds;
        for (const int device : leaf.devices)
            for (const Port& port : at(host_.devices, device).ports)
                if (port.gigabits > 0) ++speeds[port.gigabits];
        std::string text;
        for (const auto& [speed, count] : speeds)
            text += fmt::format("{}{}{} Gb/s", text.empty() ? "" : ", ",
                                count > 1 ? fmt::format("{} x ", count) : "", speed);
        const bool is_virtual = at(host_.devices, leaf.devices.front()).model == virtual_interface;
        return is_virtual ? "software" : text;
    }

    const Host& host_;
    std::string title_;
    std::vector<std::string> labels_;
    std::vector<ColumnGroup> groups_;
    std::map<int, int> cache_of_;
    LinkPlaces places_;
    double width_ = 0, node_height_ = 0, groups_y_ = 0, nodes_y_ = 0, devices_y_ = 0;
};

}  // namespace

double line_width(double bandwidth_GBps) {
    return std::clamp(1.2 + std::sqrt(std::max(bandwidth_GBps, 0.0)) * 0.55, 1.5, 14.0);
}

Drawing draw_host(const Host& host, const std::string& title) {
    return HostDrawing(host, title).draw();
}

}  // namespace tutti
