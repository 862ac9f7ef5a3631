// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/nccl_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/index.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

// What XML would take for its own is written as an entity; control characters have none.
std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '"')
            safe += "&quot;";
        else
            safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return safe;
}

std::string attribute(std::string_view name, std::string_view value) {
    return fmt::format(" {}=\"{}\"", name, escaped(value));
}

// "10de:2330" as two attributes; nothing where it is unknown.
std::string ids(std::string_view prefix, const std::string& id) {
    const std::size_t colon = id.find(':');
    if (colon == std::string::npos) return "";
    return attribute(fmt::format("{}vendor", prefix), "0x" + id.substr(0, colon)) +
           attribute(fmt::format("{}device", prefix), "0x" + id.substr(colon + 1));
}

// As the kernel has spelled it since 5.6; "" and 0 are NCCL's words for unknown.
std::string link_attributes(PcieLink link) {
    return attribute("link_speed", link.gigatransfers > 0
                                       ? fmt::format("{:.1f} GT/s PCIe", link.gigatransfers)
                                       : "") +
           attribute("link_width", std::to_string(link.lanes));
}

// "000000ff,ffff0000": 32 CPUs a word, the highest first.
std::string affinity(const Host& host, const NumaNode& node) {
    std::vector<std::uint32_t> words(1);
    for (const int core : node.cores)
        for (const int cpu : host.cores[core].threads) {
            const auto word = as_size(cpu) / 32;
            if (word >= words.size()) words.resize(word + 1);
            words[word] |= std::uint32_t{1} << (cpu % 32);
        }
    std::string text;
    for (std::size_t i = words.size(); i-- > 0;)
        text += fmt::format("{:08x}{}", words[i], i > 0 ? "," : "");
    return text;
}

// NCCL knows three processors, two of them by other words than the kernel's.
std::string nccl_word(const std::string& architecture) {
    if (architecture == "aarch64") return "arm64";
    if (architecture == "ppc64le") return "ppc64";
    return architecture;
}

class NcclWriter {
public:
    explicit NcclWriter(const Host& host) : host_(host) {
        for (const Device& device : host.devices) taken_.insert(device.pci_address);
        for (const PcieSwitch& pcie_switch : host.pcie_switches)
            taken_.insert(pcie_switch.pci_address);
    }

    std::string write() {
        line(0, "<system version=\"1\">");
        for (const NumaNode& node : host_.numa_nodes)
            write_cpu(node.os_index, affinity(host_, node));
        if (anything_near({})) write_cpu({}, "");
        line(0, "</system>");
        return std::move(page_);
    }

private:
    void line(int depth, const std::string& text) {
        page_.append(as_size(depth) * 2, ' ');
        page_ += text + "\n";
    }

    // What hangs under no switch is near this node; what hangs under one goes where that one is.
    template <class Part>
    bool is_at(const Part& part, std::optional<int> above, std::optional<int> node) const {
        if (part.above != above) return false;
        return above || node_written(part.numa_node) == node;
    }

    // A NUMA node that the host does not list is unknown to it.
    std::optional<int> node_written(std::optional<int> node) const {
        return std::ranges::find(host_.numa_nodes, node.value_or(-1), &NumaNode::os_index) ==
                       host_.numa_nodes.end()
                   ? std::nullopt
                   : node;
    }

    bool anything_near(std::optional<int> node) const {
        const auto here = [&](const auto& part) { return is_at(part, {}, node); };
        return std::ranges::any_of(host_.devices, here) ||
               std::ranges::any_of(host_.pcie_switches, here);
    }

    void write_cpu(std::optional<int> node, const std::string& cpus) {
        const CpuIdentity& cpu = host_.cpu;
        std::string attributes = attribute("numaid", std::to_string(node.value_or(-1)));
        if (!cpus.empty()) attributes += attribute("affinity", cpus);
        if (!cpu.architecture.empty()) attributes += attribute("arch", nccl_word(cpu.architecture));
        if (cpu.architecture == "x86_64" && !cpu.vendor.empty())
            attributes += attribute("vendor", cpu.vendor) +
                          attribute("familyid", std::to_string(cpu.family)) +
                          attribute("modelid", std::to_string(cpu.model));
        line(1, "<cpu" + attributes + ">");
        write_below({}, node, 2);
        line(1, "</cpu>");
    }

    void write_below(std::optional<int> above, std::optional<int> node, int depth) {
        for (std::size_t i = 0; i < host_.pcie_switches.size(); ++i)
            if (is_at(host_.pcie_switches[i], above, node)) write_switch(i, depth);
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (is_at(host_.devices[i], above, node)) write_device(static_cast<int>(i), depth);
    }

    void write_switch(std::size_t position, int depth) {
        const PcieSwitch& it = host_.pcie_switches[position];
        const std::string address = it.pci_address.empty() ? free_address() : it.pci_address;
        line(depth, "<pci" + attribute("busid", address) + attribute("class", "0x060400") +
                        ids("", it.pci_id) + ids("subsystem_", it.subsystem_id) +
                        link_attributes(it.link) + ">");
        write_below(static_cast<int>(position), {}, depth + 1);
        line(depth, "</pci>");
    }

    // As the clouds' own files call switches that their virtual machines do not show.
    std::string free_address() {
        for (;;) {
            const int number = next_free_++;
            std::string address = fmt::format("ffff:{:02x}:{:02x}.{}", 0xff - number / 256,
                                              number / 8 % 32, number % 8);
            if (taken_.insert(address).second) return address;
        }
    }

    void write_device(int position, int depth) {
        const Device& device = host_.devices[position];
        if (device.kind == DeviceKind::nic) return write_nic(device, depth);
        if (device.kind == DeviceKind::nvswitch) {
            if (device.pci_address.empty() || !has_place(device)) return;  // the links name it
            return line(depth, pci(device, "0x068000") + "/>");
        }
        if (device.pci_address.empty())
            throw Error(
                "a GPU without PCI address cannot be named to NCCL; give a machine whose "
                "source has the addresses: this one, hwloc XML or NCCL XML");
        const bool amd = device.pci_id.starts_with("1002:") || device.model.starts_with("gfx");
        const std::string rows = link_rows(position, depth + 2);
        const std::string opening = pci(device, amd ? "0x038000" : "0x030200");
        const std::string gpu = gpu_attributes(device, amd);
        if (rows.empty() && gpu.empty()) return line(depth, opening + "/>");  // NCCL will ask
        line(depth, opening + ">");
        line(depth + 1, "<gpu" + gpu + (rows.empty() ? "/>" : ">"));
        if (!rows.empty()) {
            page_ += rows;
            line(depth + 1, "</gpu>");
        }
        line(depth, "</pci>");
    }

    // NVSwitches that are known from links alone have neither place nor identity.
    static bool has_place(const Device& device) {
        return device.above || device.numa_node || !device.pci_id.empty();
    }

    static std::string pci(const Device& device, std::string_view pci_class) {
        return "<pci" + attribute("busid", device.pci_address) + attribute("class", pci_class) +
               ids("", device.pci_id) + link_attributes(device.link);
    }

    static std::string gpu_attributes(const Device& device, bool amd) {
        std::string attributes;
        for (const std::string& name : device.names)
            if (attributes.empty() && name.starts_with("GPU"))
                attributes = attribute("dev", name.substr(3));
        const std::string gfx =
            device.model.starts_with("gfx") ? device.model : instruction_set_of(device.pci_id);
        if (amd && !gfx.empty())
            attributes += attribute("gcn", gfx.substr(3));
        else if (device.compute_capability > 0)
            attributes += attribute("sm", std::to_string(device.compute_capability));
        return attributes;
    }

    std::string link_rows(int gpu, int depth) const {
        const LinkEnd own{LinkEnd::Kind::device, gpu};
        std::string rows;
        for (const Link& link : host_.links) {
            if (link.a != own && link.b != own) continue;
            rows.append(as_size(depth) * 2, ' ');
            rows += link_row(link, link.a == own ? link.b : link.a) + "\n";
        }
        return rows;
    }

    std::string link_row(const Link& link, LinkEnd to) const {
        const std::string count = attribute("count", std::to_string(link.count));
        if (link.kind == LinkKind::c2c) {
            const double megabytes =
                std::round(link.bandwidth_GBps * 1000 / std::max(link.count, 1));
            return "<c2c" + attribute("bw", fmt::format("{:.0f}", megabytes)) + count + "/>";
        }
        const std::string name = link.kind == LinkKind::xgmi ? "<xgmi" : "<nvlink";
        std::string target = "0000:00:00.0", target_class = "0x068001";  // the CPU
        if (to.kind == LinkEnd::Kind::device) {
            const Device& peer = host_.devices[to.index];
            const bool is_switch = peer.kind == DeviceKind::nvswitch;
            target = is_switch && peer.pci_address.empty() ? "fffffff:ffff:ff" : peer.pci_address;
            target_class = is_switch                     ? "0x068000"
                           : link.kind == LinkKind::xgmi ? "0x038000"
                                                         : "0x030200";
        }
        return name + attribute("target", target) + count + attribute("tclass", target_class) +
               "/>";
    }

    // A NIC without PCI address (of a virtual machine, say) hangs at the CPU itself.
    void write_nic(const Device& device, int depth) {
        const bool on_pci = !device.pci_address.empty();
        if (on_pci && device.ports.empty()) return line(depth, pci(device, "0x020000") + "/>");
        if (on_pci) line(depth, pci(device, "0x020000") + ">");
        const int inside = depth + (on_pci ? 1 : 0);
        line(inside, "<nic>");
        for (std::size_t i = 0; i < device.ports.size(); ++i)
            line(inside + 1, net(device.ports[i], i));
        line(inside, "</nic>");
        if (on_pci) line(depth, "</pci>");
    }

    std::string net(const Port& port, std::size_t number) {
        std::string attributes =
            attribute("name", port.name) + attribute("dev", std::to_string(next_net_++));
        if (port.gigabits > 0)
            attributes += attribute("speed", fmt::format("{:.0f}", port.gigabits * 1000));
        return "<net" + attributes + attribute("port", std::to_string(number + 1)) + "/>";
    }

    const Host& host_;
    std::string page_;
    std::set<std::string> taken_;
    int next_free_ = 8;  // ffff:ff:01.0, as they do
    int next_net_ = 0;
};

}  // namespace

std::string to_nccl_xml(const Host& host) { return NcclWriter(host).write(); }

}  // namespace tutti
