// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/index.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/nccl_links.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/import/xml.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

constexpr int pci_bridge = 0x0604;

// "16 GT/s", "32.0 GT/s PCIe": 0 for anything else ("Unknown speed", "").
double gigatransfers_in(const std::string& text) {
    if (text.find("GT/s") == std::string::npos) return 0;
    const double speed = real_number(text.substr(0, text.find(' '))).value_or(0);
    return speed > 0 ? speed : 0;
}

// NCCL's words for processors as the kernel's.
std::string kernel_word(const std::string& architecture) {
    if (architecture == "arm64") return "aarch64";
    if (architecture == "ppc64") return "ppc64le";
    return architecture;
}

bool has_child(const XmlElement& element, std::string_view name) {
    return std::ranges::find(element.children, name, &XmlElement::name) != element.children.end();
}

// "0x10de" and "0x2330" as "10de:2330"; empty where the file does not say.
std::string pci_id(const XmlElement& pci, const char* vendor, const char* device,
                   const Source& source) {
    std::array<std::int64_t, 2> numbers{};
    std::size_t known = 0;
    for (const char* name : {vendor, device}) {
        const std::string text = pci.value(name);
        if (text.empty()) return "";
        const auto number = hexadecimal_number(text);
        if (!number || *number > 0xffff)
            source.fail(pci.line, fmt::format("{}={} is not as \"0x10de\"", name, in_quotes(text)));
        numbers[known++] = *number;
    }
    return fmt::format("{:04x}:{:04x}", numbers[0], numbers[1]);
}

// One host; reads the elements below <cpu> in their order.
class HostReader {
public:
    explicit HostReader(const Source& source) : source_(source) {}

    void read_cpu(const XmlElement& cpu) {
        if (host_.cpu == CpuIdentity{})
            host_.cpu = {.architecture = kernel_word(cpu.value("arch")),
                         .vendor = cpu.value("vendor"),
                         .family = static_cast<int>(whole(cpu, "familyid", 0, source_, -1)),
                         .model = static_cast<int>(whole(cpu, "modelid", 0, source_, -1))};
        const auto number = static_cast<int>(whole(cpu, "numaid", -1, source_, -1, most_cpus - 1));
        const PciePlace place{.numa_node = number < 0 ? std::nullopt : std::optional(number),
                              .above = {}};
        read_cores(cpu, place.numa_node);
        read_children(cpu, place);
    }

    Host result() {
        read_nccl_links(rows_, by_address_, host_, source_);
        drop_idle_switches(host_);
        place_on_only_numa_node(host_);
        note_what_is_missing();
        return std::move(host_);
    }

private:
    void read_cores(const XmlElement& cpu, std::optional<int> numa_node) {
        const auto threads = cpus_of_mask(cpu.value("affinity"), source_, cpu.line);
        if (!threads) source_.fail(cpu.line, "affinity= without end; give the CPUs of this node");
        CoreSet cores;
        for (const int thread : *threads) {
            if (!threads_.insert(thread).second) continue;  // named by another node already
            cores.push_back(int_size(host_.cores));
            host_.cores.push_back({{thread}});
        }
        if (!numa_node) return;
        if (!nodes_.insert(*numa_node).second)
            source_.fail(cpu.line, fmt::format("numaid {} is there twice", *numa_node));
        host_.numa_nodes.push_back({.os_index = *numa_node, .cores = std::move(cores)});
    }

    void read_children(const XmlElement& element, const PciePlace& place) {
        for (const XmlElement& child : element.children) {
            if (child.name == "pci") read_pci(child, place);
            if (child.name == "nic" && element.name == "cpu") {
                Device nic{.kind = DeviceKind::nic, .numa_node = place.numa_node};
                read_ports(child, nic);
                host_.devices.push_back(std::move(nic));
            }
        }
    }

    void read_pci(const XmlElement& pci, PciePlace place) {
        const std::string& text = required(pci, "busid", source_);
        const auto address = pci_address(text);
        if (!address)
            source_.fail(pci.line, fmt::format("busid={} is no PCI address", in_quotes(text)));
        if (!addresses_.insert(*address).second)
            source_.fail(pci.line, fmt::format("the busid {} is there twice", *address));
        constexpr int unknown_width = 255;  // as the kernel says it
        const PcieLink link{
            .gigatransfers = gigatransfers_in(pci.value("link_speed")),
            .lanes = static_cast<int>(whole(pci, "link_width", 0, source_) % unknown_width)};
        const std::string id = pci_id(pci, "vendor", "device", source_);
        if (class_of(pci) == pci_bridge) {
            host_.pcie_switches.push_back(
                {.pci_address = *address,
                 .pci_id = id,
                 .above = place.above,
                 .numa_node = place.numa_node,
                 .link = link,
                 .subsystem_id = pci_id(pci, "subsystem_vendor", "subsystem_device", source_)});
            place.above = int_size(host_.pcie_switches) - 1;
        } else if (const auto kind = kind_of(pci, id)) {
            read_device(pci, {.kind = *kind,
                              .pci_address = *address,
                              .pci_id = id,
                              .numa_node = place.numa_node,
                              .above = place.above,
                              .link = link,
                              .compute_capability = compute_capability_of(id)});
        }
        read_children(pci, place);
    }

    int class_of(const XmlElement& pci) const {
        const std::string text = pci.value("class");
        if (text.empty()) return 0;
        const auto number = hexadecimal_number(text);
        if (!number || *number > 0xffffff)
            source_.fail(pci.line, fmt::format("class={} is not as \"0x030200\"", in_quotes(text)));
        return static_cast<int>(*number >> 8);
    }

    // What stands inside says it; else the class, for files that leave the filling in to NCCL.
    std::optional<DeviceKind> kind_of(const XmlElement& pci, const std::string& id) const {
        constexpr int nvidia = 0x10de;
        if (has_child(pci, "gpu")) return DeviceKind::gpu;
        if (has_child(pci, "nic")) return DeviceKind::nic;
        const auto vendor = id.empty() ? std::optional<std::int64_t>(nvidia)
                                       : hexadecimal_number(std::string_view(id).substr(0, 4));
        return device_kind(class_of(pci), static_cast<int>(vendor.value_or(0)));
    }

    void read_device(const XmlElement& pci, Device device) {
        const int position = int_size(host_.devices);
        by_address_[device.pci_address] = position;
        for (const XmlElement& child : pci.children) {
            if (child.name == "nic") read_ports(child, device);
            if (child.name != "gpu") continue;
            read_gpu(child, device);
            rows_.push_back({position, &child});
        }
        host_.devices.push_back(std::move(device));
    }

    // RCCL writes the same attributes, of which sm means nothing there and gcn="908" gfx908; its
    // gcn="910" was the first name of gfx90a.
    void read_gpu(const XmlElement& gpu, Device& device) const {
        if (gpu.find("dev"))
            device.names.push_back(fmt::format("GPU{}", whole(gpu, "dev", 0, source_)));
        std::string gcn = gpu.value("gcn");
        gcn = gcn.substr(0, gcn.find(':'));
        if (gcn == "910") gcn = "90a";
        if (!gcn.empty())
            device.model = (gcn.starts_with("gfx") ? "" : "gfx") + gcn;
        else if (gpu.find("sm"))
            device.compute_capability = static_cast<int>(whole(gpu, "sm", 0, source_, 0, 1000));
    }

    void read_ports(const XmlElement& nic, Device& device) const {
        std::set<std::string> names(device.names.begin(), device.names.end());
        for (const XmlElement& net : nic.children) {
            if (net.name != "net") continue;
            const std::string& name = required(net, "name", source_);
            const auto megabits = whole(net, "speed", 0, source_, -1);
            if (names.insert(name).second) device.names.push_back(name);
            device.ports.push_back(
                {.name = name,
                 .gigabits = megabits > 0 ? static_cast<double>(megabits) / 1000 : 0});
        }
    }

    void note_what_is_missing() {
        host_.not_seen.push_back(
            "packages, caches, memory, and which CPUs share a core: NCCL's "
            "file lists CPUs alone, each of which is a core here");
        const auto gpus = std::ranges::count(host_.devices, DeviceKind::gpu, &Device::kind);
        const bool has_rows = std::ranges::any_of(rows_, [](const NcclGpu& gpu) {
            return has_child(*gpu.element, "nvlink") || has_child(*gpu.element, "xgmi");
        });
        if (gpus > 1 && !has_rows)
            host_.not_seen.push_back(
                "links between the GPUs (NVLink, xGMI): this file leaves "
                "them to be asked of the driver");
        const bool silent_nic = std::ranges::any_of(host_.devices, [](const Device& device) {
            return device.kind == DeviceKind::nic && device.ports.empty();
        });
        if (silent_nic)
            host_.not_seen.push_back(
                "names and speeds of some NICs: this file leaves them to be "
                "asked of the driver");
    }

    const Source& source_;
    Host host_;
    std::set<int> threads_, nodes_;
    std::set<std::string> addresses_;
    std::map<std::string, int> by_address_;
    std::vector<NcclGpu> rows_;
};

}  // namespace

Machine read_nccl_xml(const Source& source) {
    const XmlElement system = parse_xml(source);
    // The files of several hosts may have been fused; then each <cpu> says whose it is.
    std::map<std::string, std::size_t> position_of;
    std::vector<HostReader> hosts;
    for (const XmlElement& cpu : system.children) {
        if (cpu.name != "cpu") continue;
        const auto [found, is_new] = position_of.try_emplace(cpu.value("host_hash"), hosts.size());
        if (is_new) hosts.emplace_back(source);
        hosts[found->second].read_cpu(cpu);
    }
    if (hosts.empty())
        source.fail(system.line, "no <cpu> in it; give what NCCL_TOPO_DUMP_FILE wrote");
    Machine machine;
    for (HostReader& host : hosts) machine.hosts.push_back(host.result());
    return machine;
}

}  // namespace tutti
