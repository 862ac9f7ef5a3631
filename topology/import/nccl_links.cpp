// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/index.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/nccl_parts.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

// NVSwitches that the host does not see on its bus (virtual machines, multi-node NVLink) have
// addresses such as fffffff:ffff:ff and fffffff:ff:ff.0.
constexpr std::string_view hidden_domain = "fffffff:";

class LinkReader {
public:
    LinkReader(NcclAddresses& by_address, Host& host, const Source& source)
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
            link.count = static_cast<int>(
                std::min<std::int64_t>(std::max(counted.from_a, counted.from_b), most_links));
            link.bandwidth_GBps =
                bandwidth_GBps_of(link, host_) / (parts_at(link.a) * parts_at(link.b));
            host_.links.push_back(link);
        }
        for (Link& link : to_cpu_) host_.links.push_back(link);
        if (!to_itself_.empty())
            host_.not_seen.push_back(
                "the ends of the NVLinks of" + to_itself_ +
                ": in the file they lead to the GPU itself, which NCCL ignores");
        if (!c2c_without_node_.empty())
            host_.not_seen.push_back("the C2C links of" + c2c_without_node_ +
                                     ": the file has no NUMA node (numaid) of these GPUs");
        if (lost_ > 0)
            host_.not_seen.push_back(fmt::format(
                "the other ends of {} rows of links: the file lacks those GPUs", lost_));
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
        switch (target_at(target, row)) {
            case NcclTarget::nvswitch:
                return count_nvswitch(kind, from, target, row, count);
            case NcclTarget::cpu:
                // Like NCCL, take the CPU of the GPU's bus.
                if (const auto node = host_.devices[gpu].numa_node)
                    return count_link(kind, from, {LinkEnd::Kind::numa_node, *node}, count);
                ++lost_;
                return;
            case NcclTarget::gpu:
                return count_peer(kind, from, address_in(target, row), count);
            case NcclTarget::other:
                ++lost_;
        }
    }

    // Without tclass= NCCL asks the kernel, and treats unknown devices as NVSwitches.
    NcclTarget target_at(const std::string& target, const XmlElement& row) const {
        if (row.value("tclass").empty())
            if (const auto address = pci_address(target);
                address && first_at(*address, DeviceKind::gpu))
                return NcclTarget::gpu;
        return target_of(row, source_);
    }

    std::optional<int> first_at(const std::string& address, DeviceKind kind) const {
        const auto found = by_address_.find(address);
        if (found == by_address_.end()) return std::nullopt;
        const int device = found->second.front();
        return at(host_.devices, device).kind == kind ? std::optional(device) : std::nullopt;
    }

    // Returns the number of parts that share the links of this end.
    double parts_at(const LinkEnd& end) const {
        if (end.kind != LinkEnd::Kind::device) return 1;
        const Device& device = at(host_.devices, end.index);
        const auto found = by_address_.find(device.pci_address);
        return device.kind != DeviceKind::gpu || found == by_address_.end()
                   ? 1
                   : static_cast<double>(found->second.size());
    }

    std::string address_in(const std::string& target, const XmlElement& row) const {
        const auto address = pci_address(target);
        if (!address)
            source_.fail(row.line,
                         fmt::format("target={} is not a PCI address", in_quotes(target)));
        return *address;
    }

    void count_peer(LinkKind kind, LinkEnd from, const std::string& address, std::int64_t count) {
        if (!first_at(address, DeviceKind::gpu)) {
            ++lost_;
            return;
        }
        const std::vector<int>& peers = by_address_.at(address);
        if (std::ranges::find(peers, from.index) != peers.end()) {
            to_itself_ += " " + address;
            return;
        }
        for (const int peer : peers) count_link(kind, from, {LinkEnd::Kind::device, peer}, count);
    }

    void count_nvswitch(LinkKind kind, LinkEnd from, const std::string& target,
                        const XmlElement& row, std::int64_t count) {
        const std::string address =
            target.starts_with(hidden_domain) ? "" : address_in(target, row);
        std::vector<int>& here = by_address_[address];
        if (here.empty()) {
            here.push_back(int_size(host_.devices));
            host_.devices.push_back({.kind = DeviceKind::nvswitch, .pci_address = address});
        } else if (!first_at(address, DeviceKind::nvswitch)) {
            source_.fail(row.line, fmt::format("target={} is not an NVSwitch, but tclass= says so",
                                               in_quotes(target)));
        }
        count_link(kind, from, {LinkEnd::Kind::device, here.front()}, count);
    }

    // Both GPUs of a pair have rows; `a` is the first one.
    void count_link(LinkKind kind, LinkEnd from, LinkEnd to, std::int64_t count) {
        const bool peers =
            to.kind == LinkEnd::Kind::device && host_.devices[to.index].kind == DeviceKind::gpu;
        const bool turned = peers && to.index < from.index;
        const auto ends = turned ? std::pair(to, from) : std::pair(from, to);
        const auto [found, is_new] =
            position_of_.try_emplace({kind, ends.first, ends.second}, links_.size());
        if (is_new) links_.push_back({{.kind = kind, .a = ends.first, .b = ends.second}});
        Counted& counted = links_[found->second];
        (turned ? counted.from_b : counted.from_a) += count;
    }

    void read_c2c(int gpu, const XmlElement& row) {
        const auto node = host_.devices[gpu].numa_node;
        const auto count = whole(row, "count", 1, source_, 1, most_links);
        const auto megabytes = whole(row, "bw", 0, source_);
        if (!node) {
            c2c_without_node_ += " " + host_.devices[gpu].pci_address;
            return;
        }
        const double parts = parts_at({LinkEnd::Kind::device, gpu});
        to_cpu_.push_back(
            {.kind = LinkKind::c2c,
             .a = {LinkEnd::Kind::device, gpu},
             .b = {LinkEnd::Kind::numa_node, *node},
             .count = static_cast<int>(count),
             .bandwidth_GBps = static_cast<double>(megabytes * count) / 1000 / parts});
    }

    NcclAddresses& by_address_;
    Host& host_;
    const Source& source_;
    std::vector<Counted> links_;
    std::map<std::tuple<LinkKind, LinkEnd, LinkEnd>, std::size_t> position_of_;
    std::vector<Link> to_cpu_;
    std::string to_itself_, c2c_without_node_;
    int lost_ = 0;
};

}  // namespace

void read_nccl_links(const std::vector<NcclGpu>& gpus, NcclAddresses& by_address, Host& host,
                     const Source& source) {
    LinkReader reader(by_address, host, source);
    for (const NcclGpu& gpu : gpus) reader.read(gpu);
    reader.finish();
}

}  // namespace tutti
