// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/index.hpp"
#include "topology/detect/nvml_library.hpp"
#include "topology/detect/sysfs.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

constexpr unsigned most_links =
    18;  // maximum of all GPUs so far; the driver refuses larger numbers

// Writes the domain with at least four digits, as the kernel does.
std::string address_of(const nvml::PciInfo& pci) {
    return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

// In virtual machines the driver reports NVSwitches without their addresses.
bool is_hidden(const nvml::PciInfo& pci) {
    return std::strncmp(pci.address, "fffffff", 7) == 0 || pci.domain >= 0xfffffff;
}

double gigatransfers_of(int generation) {
    constexpr double speeds[] = {0, 2.5, 5, 8, 16, 32, 64};
    return generation > 0 && generation < 7 ? speeds[generation] : 0;
}

// Adds the driver's data on GPUs to a host.
class DriverReport {
public:
    DriverReport(Host& host, const NvmlLibrary& driver, std::filesystem::path root)
        : host_(host), driver_(driver), root_(std::move(root)) {}

    void describe_gpus() {
        int silent = 0;
        for (int index = 0; index < driver_.devices(); ++index) {
            const auto handle = driver_.device(index);
            const auto pci = handle ? driver_.pci(*handle) : std::nullopt;
            if (!pci) {
                ++silent;
                continue;
            }
            gpus_.push_back({*handle, position_of(*pci)});
            describe(gpus_.back());
        }
        if (silent > 0)
            note(fmt::format("{} of {} GPUs: NVIDIA's driver does not answer", silent,
                             driver_.devices()));
    }

    void find_links() {
        for (const Gpu& gpu : gpus_) {
            find_nvlinks(gpu);
            find_c2c(gpu);
        }
        for (const auto& [ends, link] : found_) host_.links.push_back(link);
        if (has_unknown_ends_)
            note(
                "the ends of some NVLinks: NVIDIA's driver does not report them; assumed to be "
                "NVSwitches");
    }

    void find_peers() {
        for (const Gpu& a : gpus_)
            for (const Gpu& b : gpus_)
                if (a.device < b.device && driver_.reaches(a.handle, b.handle) == false)
                    host_.no_peer_access.push_back({a.device, b.device});
    }

private:
    struct Gpu {
        nvml::Device handle;
        int device;  // position in the host
    };

    void note(const std::string& text) { host_.not_seen.push_back(text); }

    Device& device_at(int index) { return at(host_.devices, index); }

    int add(const Device& device) {
        host_.devices.push_back(device);
        return int_size(host_.devices) - 1;
    }

    std::optional<int> known(const std::string& address) const {
        const auto found = std::ranges::find(host_.devices, address, &Device::pci_address);
        if (found == host_.devices.end()) return std::nullopt;
        return static_cast<int>(found - host_.devices.begin());
    }

    std::optional<int> only_node() const {
        if (host_.numa_nodes.size() != 1) return std::nullopt;
        return host_.numa_nodes.front().os_index;
    }

    int position_of(const nvml::PciInfo& pci) {
        if (const auto device = known(address_of(pci))) return *device;
        const unsigned vendor = pci.device_id & 0xffff, model = pci.device_id >> 16;
        return add({.kind = DeviceKind::gpu,
                    .pci_address = address_of(pci),
                    .pci_id = fmt::format("{:04x}:{:04x}", vendor, model),
                    .numa_node = only_node()});
    }

    void describe(const Gpu& gpu) {
        Device& device = device_at(gpu.device);
        device.model = driver_.name(gpu.handle);
        device.compute_capability = driver_.compute_capability(gpu.handle).value_or(0);
        if (device.link.gigatransfers == 0)
            device.link.gigatransfers =
                gigatransfers_of(driver_.max_pcie_generation(gpu.handle).value_or(0));
        if (device.link.lanes == 0)
            device.link.lanes = driver_.max_pcie_width(gpu.handle).value_or(0);
        if (driver_.has_mig_instances(gpu.handle))
            note(
                fmt::format("the parts of GPU {}: it is divided into MIG instances, which have no "
                            "NVLink",
                            device.pci_address));
    }

    void find_nvlinks(const Gpu& gpu) {
        for (unsigned link = 0; link < most_links; ++link) {
            if (!driver_.link_is_up(gpu.handle, link)) continue;
            if (!driver_.link_may_carry_peers(gpu.handle, link)) continue;
            const auto remote = driver_.link_remote(gpu.handle, link);
            if (!remote) continue;
            add_link(LinkKind::nvlink, gpu, far_end(gpu, *remote), speed_of(gpu, link));
        }
    }

    void find_c2c(const Gpu& gpu) {
        const auto count = driver_.field(gpu.handle, nvml::c2c_count).value_or(0);
        const auto node = processors_near(gpu);
        for (unsigned link = 0; node && link < static_cast<unsigned>(count); ++link) {
            if (driver_.field(gpu.handle, nvml::c2c_status, link) != 1) continue;
            const auto megabytes = driver_.field(gpu.handle, nvml::c2c_megabytes, link);
            add_link(LinkKind::c2c, gpu, *node, megabytes.value_or(0) / 1000);
        }
    }

    // Returns the planners' constant, or less for a link that runs slower than nominal. The driver
    // reports raw bytes, of which at most nine tenths are data.
    double speed_of(const Gpu& gpu, unsigned link) const {
        const auto& device = at(host_.devices, gpu.device);
        const double nominal = nvlink_GBps(device.compute_capability);
        auto said = driver_.field(gpu.handle, nvml::nvlink_megabytes_of_link, link);
        if (!said || *said <= 0) said = driver_.field(gpu.handle, nvml::nvlink_megabytes);
        return said && *said > 0 ? std::min(nominal, 0.9 * *said / 1000) : nominal;
    }

    LinkEnd far_end(const Gpu& gpu, const nvml::PciInfo& remote) {
        if (is_hidden(remote)) return hidden_switch();
        const std::string address = address_of(remote);
        if (const auto device = known(address)) return {LinkEnd::Kind::device, *device};
        const auto file = root_ / "sys/bus/pci/devices" / address / "class";
        const std::string its_class = sysfs::first_line(file).value_or("");
        if (its_class.starts_with("0x0680"))  // a non-NVIDIA bridge: a POWER processor
            if (const auto node = processors_near(gpu)) return *node;
        has_unknown_ends_ = true;
        return hidden_switch();
    }

    std::optional<LinkEnd> processors_near(const Gpu& gpu) const {
        const auto node = at(host_.devices, gpu.device).numa_node;
        if (!node) return std::nullopt;
        return LinkEnd{LinkEnd::Kind::numa_node, *node};
    }

    // All NVSwitches without address are one device, which has all their links.
    LinkEnd hidden_switch() {
        if (!hidden_switch_)
            hidden_switch_ = add({.kind = DeviceKind::nvswitch, .numa_node = only_node()});
        return {LinkEnd::Kind::device, *hidden_switch_};
    }

    // Links between two GPUs are reported by both: only the first report counts.
    void add_link(LinkKind kind, const Gpu& gpu, LinkEnd end, double bandwidth_GBps) {
        const LinkEnd start{LinkEnd::Kind::device, gpu.device};
        const bool between_gpus =
            end.kind == LinkEnd::Kind::device && device_at(end.index).kind == DeviceKind::gpu;
        if (between_gpus && reports_link(end.index, gpu.device)) return;
        auto& link =
            found_.try_emplace({start, end}, Link{kind, start, end, 0, 0, 0}).first->second;
        ++link.count;
        link.bandwidth_GBps += bandwidth_GBps;
    }

    bool reports_link(int gpu, int peer) const {
        return found_.contains(
            {LinkEnd{LinkEnd::Kind::device, gpu}, LinkEnd{LinkEnd::Kind::device, peer}});
    }

    Host& host_;
    const NvmlLibrary& driver_;
    std::filesystem::path root_;
    std::vector<Gpu> gpus_;
    std::map<std::pair<LinkEnd, LinkEnd>, Link> found_;
    std::optional<int> hidden_switch_;
    bool has_unknown_ends_ = false;
};

bool is_nvidia_gpu(const Device& device) {
    return device.kind == DeviceKind::gpu && device.pci_id.starts_with("10de:");
}

}  // namespace

Host with_nvidia_driver(Host host, const std::filesystem::path& library,
                        const std::filesystem::path& root) {
    std::string why_not;
    const auto driver = NvmlLibrary::load(library, why_not);
    if (driver) {
        DriverReport report(host, *driver, root);
        report.describe_gpus();
        report.find_links();
        report.find_peers();
    } else if (std::ranges::any_of(host.devices, is_nvidia_gpu)) {
        host.not_seen.push_back("NVLinks and models of the NVIDIA GPUs: " + why_not);
    }
    return host;
}

}  // namespace tutti
