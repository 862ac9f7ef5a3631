// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/nccl_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/source.hpp"
#include "topology/import/nccl_own.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

// Returns "3" for a device named "GPU3".
std::optional<std::string> number_of(const Device& device) {
    if (device.kind != DeviceKind::gpu) return std::nullopt;
    for (const std::string& name : device.names)
        if (name.starts_with("GPU") && decimal_number(name.substr(3))) return name.substr(3);
    return std::nullopt;
}

bool is_amd(const Device& gpu) {
    return gpu.pci_id.starts_with("1002:") || gpu.model.starts_with("gfx");
}

std::string instruction_set_in(const Device& device) {
    if (device.kind != DeviceKind::gpu || !is_amd(device)) return "";
    return device.model.starts_with("gfx") ? device.model : instruction_set_of(device.pci_id);
}

std::vector<std::string> names_in_file(const Device& device) {
    std::vector<std::string> names;
    for (const Port& port : device.ports)
        if (std::ranges::find(names, port.name) == names.end()) names.push_back(port.name);
    if (const auto number = number_of(device)) names.push_back("GPU" + *number);
    return names;
}

// Returns the class by which a reader knows the maker's GPUs.
std::string_view class_of(const Device& gpu) {
    return is_amd(gpu) || gpu.pci_id.starts_with("8086:") ? "0x038000" : "0x030200";
}

std::string attribute(std::string_view name, std::string_view value) {
    return fmt::format(" {}=\"{}\"", name, xml_escaped(value));
}

// Returns "10de:2330" as two attributes; "" if unknown.
std::string ids(std::string_view prefix, const std::string& id) {
    const std::size_t colon = id.find(':');
    if (colon == std::string::npos) return "";
    return attribute(fmt::format("{}vendor", prefix), "0x" + id.substr(0, colon)) +
           attribute(fmt::format("{}device", prefix), "0x" + id.substr(colon + 1));
}

// Uses the spelling of kernels since 5.6; "" and 0 mean unknown in NCCL.
std::string link_attributes(PcieLink link) {
    return attribute("link_speed", link.gigatransfers > 0
                                       ? fmt::format("{:.1f} GT/s PCIe", link.gigatransfers)
                                       : "") +
           attribute("link_width", std::to_string(link.lanes));
}

// Returns the CPUs of the node as "000000ff,ffff0000": 32 per word, the highest first.
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

// Returns NCCL's name of an architecture, which may differ from the kernel's.
std::string nccl_architecture(const std::string& architecture) {
    if (architecture == "aarch64") return "arm64";
    if (architecture == "ppc64le") return "ppc64";
    return architecture;
}

std::string gpu_attributes(const Device& gpu) {
    std::string attributes;
    if (const auto number = number_of(gpu)) attributes = attribute("dev", *number);
    if (const std::string gfx = instruction_set_in(gpu); !gfx.empty())
        attributes += attribute("gcn", gfx.substr(3));
    else if (gpu.compute_capability > 0)
        attributes += attribute("sm", std::to_string(gpu.compute_capability));
    return attributes;
}

std::string own_attribute(std::string_view name, const std::string& value) {
    return xml_escaped(value).size() > nccl_own::longest ? "" : attribute(name, value);
}

std::string names_and_model(const Device& device) {
    std::string names, text;
    for (const std::string& name : device.names) names += (names.empty() ? "" : " ") + name;
    if (device.names != names_in_file(device)) text += own_attribute(nccl_own::names, names);
    if (device.model != instruction_set_in(device))
        text += own_attribute(nccl_own::model, device.model);
    return text;
}

class NcclWriter {
public:
    explicit NcclWriter(const Host& host) : host_(host) {
        for (const Device& device : host.devices) taken_.insert(device.pci_address);
        for (const PcieSwitch& pcie_switch : host.pcie_switches)
            taken_.insert(pcie_switch.pci_address);
        gives_positions_ = !is_in_order_of_tree() || !has_gpus_in_order_of_numbers();
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

    // Whether the part is below switch `above` or, without one, at NUMA node `node`.
    template <class Part>
    bool is_at(const Part& part, std::optional<int> above, std::optional<int> node) const {
        if (part.above != above) return false;
        return above || node_written(part.numa_node) == node;
    }

    // NUMA nodes that the host does not list are written as unknown.
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
        if (!host_is_named_ && !host_.name.empty())
            attributes += own_attribute(nccl_own::host, host_.name);
        host_is_named_ = true;
        if (!cpus.empty()) attributes += attribute("affinity", cpus);
        if (!cpu.architecture.empty())
            attributes += attribute("arch", nccl_architecture(cpu.architecture));
        if (cpu.architecture == "x86_64" && !cpu.vendor.empty())
            attributes += attribute("vendor", cpu.vendor) +
                          attribute("familyid", std::to_string(cpu.family)) +
                          attribute("modelid", std::to_string(cpu.model));
        line(1, "<cpu" + attributes + ">");
        write_below({}, node, 2);
        line(1, "</cpu>");
    }

    void write_below(std::optional<int> above, std::optional<int> node, int depth) {
        each_below(above, node, [&](Part part, int position) {
            if (part == Part::pcie_switch)
                write_switch(as_size(position), depth);
            else
                write_device(position, depth);
        });
    }

    enum class Part { pcie_switch, device };

    template <class Visit>
    void each_below(std::optional<int> above, std::optional<int> node, Visit visit) const {
        for (std::size_t i = 0; i < host_.pcie_switches.size(); ++i)
            if (is_at(host_.pcie_switches[i], above, node))
                visit(Part::pcie_switch, static_cast<int>(i));
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (is_at(host_.devices[i], above, node) && is_written(host_.devices[i]))
                visit(Part::device, static_cast<int>(i));
    }

    // NVSwitches that are known only from links have no element.
    static bool is_written(const Device& device) {
        return device.kind != DeviceKind::nvswitch ||
               (!device.pci_address.empty() && has_place(device));
    }

    // Whether the order of the file's tree is the order of devices and switches.
    bool is_in_order_of_tree() const {
        std::vector<int> devices, switches;
        const auto walk = [&](const auto& self, std::optional<int> above,
                              std::optional<int> node) -> void {
            each_below(above, node, [&](Part part, int position) {
                (part == Part::device ? devices : switches).push_back(position);
                if (part == Part::pcie_switch) self(self, position, node);
            });
        };
        for (const NumaNode& node : host_.numa_nodes) walk(walk, {}, node.os_index);
        walk(walk, {}, {});
        return std::ranges::is_sorted(devices) && std::ranges::is_sorted(switches);
    }

    // Without positions the GPUs are read in the order of their numbers.
    bool has_gpus_in_order_of_numbers() const {
        Host read = host_;
        std::vector<std::int64_t> numbers;
        for (const Device& device : host_.devices) numbers.push_back(gpu_number(device, {"GPU"}));
        const std::vector<int> positions = put_gpus_in_order(read, numbers);
        return std::ranges::is_sorted(positions);
    }

    std::string own_position(int position) const {
        return gives_positions_ ? attribute(nccl_own::position, std::to_string(position)) : "";
    }

    std::string own_attributes(int position) const {
        return own_position(position) + names_and_model(at(host_.devices, position));
    }

    void write_switch(std::size_t position, int depth) {
        const PcieSwitch& it = host_.pcie_switches[position];
        const std::string address = it.pci_address.empty() ? free_address() : it.pci_address;
        line(depth, "<pci" + attribute("busid", address) + attribute("class", "0x060400") +
                        ids("", it.pci_id) + ids("subsystem_", it.subsystem_id) +
                        link_attributes(it.link) + own_position(static_cast<int>(position)) + ">");
        for (const SwitchLink& link : host_.switch_links)
            for (const auto& [from, to] : {std::pair(link.a, link.b), {link.b, link.a}})
                if (const std::string& target = at(host_.pcie_switches, to).pci_address;
                    from == static_cast<int>(position) && !target.empty())
                    line(depth + 1, "<pcilink" + attribute("target", target) + "/>");
        write_below(static_cast<int>(position), {}, depth + 1);
        line(depth, "</pci>");
    }

    // Uses the addresses that cloud providers' files have for switches hidden from virtual
    // machines.
    std::string free_address() {
        for (;;) {
            const int number = next_free_++;
            std::string address = fmt::format("ffff:{:02x}:{:02x}.{}", 0xff - number / 256,
                                              number / 8 % 32, number % 8);
            if (taken_.insert(address).second) return address;
        }
    }

    void write_device(int position, int depth) {
        const Device& device = at(host_.devices, position);
        if (device.kind == DeviceKind::nic) return write_nic(position, depth);
        if (device.kind == DeviceKind::nvswitch)
            return line(depth, pci(device, "0x068000") + own_attributes(position) + "/>");
        if (device.pci_address.empty())
            throw Error(
                "NCCL needs the PCI address of each GPU; use this machine, hwloc XML or NCCL XML");
        const std::vector<int> parts = parts_at(device.pci_address);
        if (parts.front() != position) return;  // already written
        const bool divided = parts.size() > 1;
        const std::string opening =
            pci(device, class_of(device)) + (divided ? "" : own_attributes(position));
        std::string gpus;
        for (std::size_t p = 0; p < parts.size(); ++p)
            gpus += gpu_element(
                parts[p],
                divided ? attribute("mlopart", std::to_string(p)) + own_attributes(parts[p]) : "",
                depth + 1);
        if (gpus.empty()) return line(depth, opening + "/>");  // NCCL asks the driver
        line(depth, opening + ">");
        page_ += gpus;
        line(depth, "</pci>");
    }

    // Returns the GPUs at an address: several if a GPU is divided.
    std::vector<int> parts_at(const std::string& address) const {
        std::vector<int> parts;
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (host_.devices[i].kind == DeviceKind::gpu && host_.devices[i].pci_address == address)
                parts.push_back(static_cast<int>(i));
        return parts;
    }

    std::string gpu_element(int position, const std::string& more, int depth) const {
        const std::string attributes = gpu_attributes(at(host_.devices, position)) + more;
        const std::string rows = link_rows(position, depth + 1);
        if (rows.empty() && attributes.empty()) return "";
        const std::string indent(as_size(depth) * 2, ' ');
        if (rows.empty()) return indent + "<gpu" + attributes + "/>\n";
        return indent + "<gpu" + attributes + ">\n" + rows + indent + "</gpu>\n";
    }

    // NVSwitches that are known only from links have neither place nor id.
    static bool has_place(const Device& device) {
        return device.above || device.numa_node || !device.pci_id.empty();
    }

    static std::string pci(const Device& device, std::string_view pci_class) {
        return "<pci" + attribute("busid", device.pci_address) + attribute("class", pci_class) +
               ids("", device.pci_id) + link_attributes(device.link);
    }

    std::string link_rows(int gpu, int depth) const {
        const LinkEnd own_end{LinkEnd::Kind::device, gpu};
        std::string rows;
        std::set<std::string> written;  // parts of a divided GPU have one address
        for (const Link& link : host_.links) {
            if (link.a != own_end && link.b != own_end) continue;
            const std::string row = link_row(link, link.a == own_end ? link.b : link.a, gpu);
            if (written.insert(row).second)
                rows += std::string(as_size(depth) * 2, ' ') + row + "\n";
        }
        return rows;
    }

    std::string link_row(const Link& link, LinkEnd to, int gpu) const {
        const std::string count = attribute("count", std::to_string(link.count));
        if (link.kind == LinkKind::c2c) {
            const auto parts = parts_at(at(host_.devices, gpu).pci_address).size();
            const double megabytes = std::round(
                link.bandwidth_GBps * 1000 * static_cast<double>(parts) / std::max(link.count, 1));
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

    // A NIC without PCI address (as in virtual machines) is directly below the CPU.
    void write_nic(int position, int depth) {
        const Device& device = at(host_.devices, position);
        const bool on_pci = !device.pci_address.empty();
        const std::string opening =
            on_pci ? pci(device, "0x020000") + own_attributes(position) : "";
        if (on_pci && device.ports.empty()) return line(depth, opening + "/>");
        if (on_pci) line(depth, opening + ">");
        const int inside = depth + (on_pci ? 1 : 0);
        line(inside, "<nic" + (on_pci ? "" : own_attributes(position)) + ">");
        for (std::size_t i = 0; i < device.ports.size(); ++i)
            line(inside + 1, net(device.ports[i], i));
        line(inside, "</nic>");
        if (on_pci) line(depth, "</pci>");
    }

    std::string net(const Port& port, std::size_t number) {
        std::string attributes =
            attribute("name", port.name) + (port.for_collectives
                                                ? attribute("dev", std::to_string(next_net_++))
                                                : attribute("net", "0"));
        if (port.gigabits > 0)
            attributes += attribute("speed", fmt::format("{:.0f}", port.gigabits * 1000));
        return "<net" + attributes + attribute("port", std::to_string(number + 1)) + "/>";
    }

    const Host& host_;
    std::string page_;
    std::set<std::string> taken_;
    bool gives_positions_ = false;
    bool host_is_named_ = false;
    int next_free_ = 8;  // ffff:ff:01.0
    int next_net_ = 0;
};

}  // namespace

std::string to_nccl_xml(const Host& host) { return NcclWriter(host).write(); }

}  // namespace tutti
