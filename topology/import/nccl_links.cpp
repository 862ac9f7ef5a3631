// SPDX-License-Identifier: Apache-2.0
#include "topology/import/nccl_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/index.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

constexpr std::int64_t most_links = 1024;

// What virtual machines show of an NVSwitch that they do not have on a bus of theirs.
constexpr std::string_view hidden_switch = "fffffff:ffff:ff";

enum class Target { gpu, nvswitch, cpu, other };

Target target_of(const XmlElement& row, const Source& source) {
    const std::string text = row.value("tclass");
    if (text.empty()) return Target::nvswitch;  // as NCCL takes it
    const auto pci_class = hexadecimal_number(text);
    if (!pci_class)
        source.fail(row.line, fmt::format("tclass={} is not as \"0x030200\"", in_quotes(text)));
    if (*pci_class == 0x068000) return Target::nvswitch;
    if (*pci_class == 0x068001) return Target::cpu;
    const auto family = *pci_class >> 16;
    return family == 0x03 || family == 0x12 ? Target::gpu : Target::other;
}

class LinkReader {
public:
    LinkReader(std::map<std::string, int>& by_address, Host& host, const Source& source)
        : by_address_(by_address), host_(host), source_(source) {}

    void read(const NcclGpu& gpu) {
        for (const XmlElement& row : gpu.element->children) {
            if (row.name == "nvlink") read_row(gpu.device, row, LinkKind::nvlink);
            if (row.name == "xgmi") read_row(gpu.device, row, LinkKind::xgmi);
            if (row.name == "c2c") read_c2c(gpu.device, row);
        }
    }

    void finish() {
        for (Counted& counted : links_) {
            Link& link = counted.link;
            link.count =
                static_cast<int>(std::min(std::max(counted.from_a, counted.from_b), most_links));
            link.bandwidth_GBps = bandwidth_GBps_of(link, host_);
            host_.links.push_back(link);
        }
        for (Link& link : to_cpu_) host_.links.push_back(link);
        if (!to_itself_.empty())
            host_.not_seen.push_back("which GPUs the NVLinks join: the file says that those of" +
                                     to_itself_ + " lead to the GPU itself, which NCCL ignores");
        if (lost_ > 0)
            host_.not_seen.push_back(fmt::format(
                "the other end of {} rows of links: the file does not have those GPUs", lost_));
    }

private:
    struct Counted {
        Link link;
        std::int64_t from_a = 0, from_b = 0;
    };

    void read_row(int gpu, const XmlElement& row, LinkKind kind) {
        const std::string& target = required(row, "target", source_);
        required(row, "count", source_);
        const auto count = whole(row, "count", 1, source_, 1, most_links);
        const LinkEnd from{LinkEnd::Kind::device, gpu};
        switch (target_of(row, source_)) {
            case Target::nvswitch:
                return count_nvswitch(kind, from, target, row, count);
            case Target::cpu:
                // As NCCL does: it is the CPU that the GPU's bus belongs to.
                if (const auto node = host_.devices[gpu].numa_node)
                    return count_link(kind, from, {LinkEnd::Kind::numa_node, *node}, count);
                ++lost_;
                return;
            case Target::gpu:
                return count_peer(kind, from, address_in(target, row), count);
            case Target::other:
                ++lost_;
        }
    }

    std::string address_in(const std::string& target, const XmlElement& row) const {
        const auto address = pci_address(target);
        if (!address)
            source_.fail(row.line, fmt::format("target={} is no PCI address", in_quotes(target)));
        return *address;
    }

    void count_peer(LinkKind kind, LinkEnd from, const std::string& address, std::int64_t count) {
        const auto found = by_address_.find(address);
        if (found == by_address_.end() || host_.devices[found->second].kind != DeviceKind::gpu) {
            ++lost_;
        } else if (found->second == from.index) {
            to_itself_ += " " + address;
        } else {
            count_link(kind, from, {LinkEnd::Kind::device, found->second}, count);
        }
    }

    void count_nvswitch(LinkKind kind, LinkEnd from, const std::string& target,
                        const XmlElement& row, std::int64_t count) {
        const std::string address = target == hidden_switch ? "" : address_in(target, row);
        const auto [found, is_new] = by_address_.try_emplace(address, int_size(host_.devices));
        if (is_new)
            host_.devices.push_back({.kind = DeviceKind::nvswitch, .pci_address = address});
        else if (host_.devices[found->second].kind != DeviceKind::nvswitch)
            source_.fail(row.line, fmt::format("target={} is no NVSwitch, as tclass= says",
                                               in_quotes(target)));
        count_link(kind, from, {LinkEnd::Kind::device, found->second}, count);
    }

    // The GPUs of a pair both have rows; `a` is the one that came first.
    void count_link(LinkKind kind, LinkEnd from, LinkEnd to, std::int64_t count) {
        const bool peers =
            to.kind == LinkEnd::Kind::device && host_.devices[to.index].kind == DeviceKind::gpu;
        const bool turned = peers && to.index < from.index;
        const auto ends = turned ? std::pair(to, from) : std::pair(from, to);
        const auto [found, is_new] =
            at_.try_emplace({kind, ends.first, ends.second}, links_.size());
        if (is_new) links_.push_back({{.kind = kind, .a = ends.first, .b = ends.second}});
        Counted& counted = links_[found->second];
        (turned ? counted.from_b : counted.from_a) += count;
    }

    void read_c2c(int gpu, const XmlElement& row) {
        const auto node = host_.devices[gpu].numa_node;
        const auto count = whole(row, "count", 1, source_, 1, most_links);
        const auto megabytes = whole(row, "bw", 0, source_);
        if (!node) return;
        to_cpu_.push_back({.kind = LinkKind::c2c,
                           .a = {LinkEnd::Kind::device, gpu},
                           .b = {LinkEnd::Kind::numa_node, *node},
                           .count = static_cast<int>(count),
                           .bandwidth_GBps = static_cast<double>(megabytes * count) / 1000});
    }

    std::map<std::string, int>& by_address_;
    Host& host_;
    const Source& source_;
    std::vector<Counted> links_;
    std::map<std::tuple<LinkKind, LinkEnd, LinkEnd>, std::size_t> at_;
    std::vector<Link> to_cpu_;
    std::string to_itself_;
    int lost_ = 0;
};

}  // namespace

void read_nccl_links(const std::vector<NcclGpu>& gpus, std::map<std::string, int>& by_address,
                     Host& host, const Source& source) {
    LinkReader reader(by_address, host, source);
    for (const NcclGpu& gpu : gpus) reader.read(gpu);
    reader.finish();
}

}  // namespace tutti
