// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/nccl_own.hpp"
#include "topology/import/nccl_parts.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/import/xml.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

// Parses "16 GT/s" or "32.0 GT/s PCIe"; 0 for anything else ("Unknown speed", "").
double gigatransfers_in(const std::string& text) {
    if (text.find("GT/s") == std::string::npos) return 0;
    const double speed = real_number(text.substr(0, text.find(' '))).value_or(0);
    return speed > 0 ? speed : 0;
}

// Converts NCCL's name of an architecture to the kernel's.
std::string kernel_word(const std::string& architecture) {
    if (architecture == "arm64") return "aarch64";
    if (architecture == "ppc64") return "ppc64le";
    return architecture;
}

// Combines "0x10de" and "0x2330" to "10de:2330"; empty if unknown.
std::string pci_id(const XmlElement& pci, const char* vendor, const char* device,
                   const Source& source) {
    std::array<std::int64_t, 2> numbers{};
    std::size_t known = 0;
    for (const char* name : {vendor, device}) {
        const std::string text = pci.value(name);
        if (text.empty()) return "";
        const auto number = hexadecimal_number(text);
        if (!number || *number > 0xffff)
            source.fail(pci.line,
                        fmt::format("{}={} is not like \"0x10de\"", name, in_quotes(text)));
        numbers[known++] = *number;
    }
    return fmt::format("{:04x}:{:04x}", numbers[0], numbers[1]);
}

// Reads one host, the elements below <cpu> in their order.
class HostReader {
public:
    HostReader(const NcclTargets& targets, bool nets_have_numbers, const Source& source)
        : targets_(targets), nets_have_numbers_(nets_have_numbers), source_(source) {}

    void read_cpu(const XmlElement& cpu) {
        ++cpus_;
        if (host_.name.empty()) host_.name = cpu.value(nccl_own::host);
        if (host_.cpu == CpuIdentity{})
            host_.cpu = {.architecture = kernel_word(cpu.value("arch")),
                         .vendor = cpu.value("vendor"),
                         .family = known_number(cpu, "familyid"),
                         .model = known_number(cpu, "modelid")};
        const auto number = static_cast<int>(whole(cpu, "numaid", -1, source_, -1, most_cpus - 1));
        const PciePlace place{.numa_node = number < 0 ? std::nullopt : std::optional(number),
                              .above = {}};
        read_cores(cpu, place.numa_node);
        read_children(cpu, place);
    }

    Host result() {
        put_devices_in_order();
        add_switch_links();
        add_only_numa_node();
        place_on_only_numa_node(host_);
        read_nccl_links(rows_, by_address_, host_, source_);
        drop_idle_switches(host_);
        place_on_only_numa_node(host_);
        note_what_is_missing();
        return std::move(host_);
    }

private:
    void read_cores(const XmlElement& cpu, std::optional<int> numa_node) {
        const auto threads = cpus_of_mask(cpu.value("affinity"), source_, cpu.line);
        if (!threads) source_.fail(cpu.line, "affinity= is infinite; use the CPUs of this node");
        CoreSet cores;
        for (const int thread : *threads) {
            if (!threads_.insert(thread).second) continue;  // already in another node
            cores.push_back(int_size(host_.cores));
            host_.cores.push_back({{thread}});
        }
        if (!numa_node) return;
        if (!nodes_.insert(*numa_node).second)
            source_.fail(cpu.line, fmt::format("numaid {} appears twice", *numa_node));
        host_.numa_nodes.push_back({.os_index = *numa_node, .cores = std::move(cores)});
    }

    void read_children(const XmlElement& element, const PciePlace& place) {
        for (const XmlElement& child : element.children) {
            if (child.name == "pci") read_pci(child, place);
            if (child.name == "nic" && element.name == "cpu") {
                Device nic{.kind = DeviceKind::nic, .numa_node = place.numa_node};
                read_ports(child, nic);
                const auto known = std::ranges::find_if(host_.devices, [&](const Device& device) {
                    return device.pci_address.empty() && !nic.ports.empty() &&
                           device.ports == nic.ports;
                });
                if (known != host_.devices.end())
                    put_at_both(*known, nic);
                else
                    add_device(std::move(nic), {&child});
            }
        }
    }

    // Several CPUs may list the same NIC: then it is near all of them.
    static void put_at_both(Device& nic, const Device& again) {
        if (nic.numa_node == again.numa_node) return;
        nic.numa_node.reset();
        nic.above.reset();
    }

    // Returns 0 for -1: unknown to NCCL.
    int known_number(const XmlElement& cpu, std::string_view attribute) const {
        return std::max(0, static_cast<int>(whole(cpu, attribute, 0, source_, -1)));
    }

    void read_pci(const XmlElement& pci, PciePlace place) {
        const std::string& text = required(pci, "busid", source_);
        const auto address = pci_address(text);
        if (!address)
            source_.fail(pci.line, fmt::format("busid={} is not a PCI address", in_quotes(text)));
        constexpr int unknown_width = 255;  // the kernel's value
        const PcieLink link{
            .gigatransfers = gigatransfers_in(pci.value("link_speed")),
            .lanes = static_cast<int>(whole(pci, "link_width", 0, source_) % unknown_width)};
        const std::string id = pci_id(pci, "vendor", "device", source_);
        const NcclPci kind = kind_of(pci, *address, id, targets_, source_);
        const bool again = !addresses_.insert(*address).second;
        if (again && kind == NcclPci::nic) {
            const auto known = std::ranges::find(host_.devices, *address, &Device::pci_address);
            if (known != host_.devices.end() && known->kind == DeviceKind::nic)
                return put_at_both(*known, {.numa_node = place.numa_node});
        }
        if (again && kind != NcclPci::pcie_switch)
            source_.fail(pci.line, fmt::format("the busid {} appears twice", *address));
        const auto same = std::ranges::find_if(host_.pcie_switches, [&](const PcieSwitch& known) {
            return known.pci_address == *address && known.above == place.above &&
                   known.numa_node == place.numa_node;
        });
        if (again && same != host_.pcie_switches.end()) {
            // RCCL's models list a switch once for each device below it.
            place.above = static_cast<int>(same - host_.pcie_switches.begin());
        } else if (kind == NcclPci::pcie_switch) {
            host_.pcie_switches.push_back(
                {.pci_address = *address,
                 .pci_id = id,
                 .above = place.above,
                 .numa_node = place.numa_node,
                 .link = link,
                 .subsystem_id = pci_id(pci, "subsystem_vendor", "subsystem_device", source_)});
            wanted_.switches.push_back(position_in({&pci}));
            place.above = int_size(host_.pcie_switches) - 1;
        } else if (const auto device_kind = device_kind_of(kind)) {
            read_device(pci, {.kind = *device_kind,
                              .pci_address = *address,
                              .pci_id = id,
                              .numa_node = place.numa_node,
                              .above = place.above,
                              .link = link,
                              .compute_capability = compute_capability_of(id)});
        } else if (kind == NcclPci::unknown) {
            unknown_.push_back(*address);
        } else if (const auto pci_class = hexadecimal_number(pci.value("class"));
                   pci_class && is_accelerator(static_cast<int>(*pci_class >> 8))) {
            other_accelerators_.push_back({*address, id});
        }
        for (const XmlElement& child : pci.children)
            if (child.name == "pcilink")
                pci_links_.emplace_back(*address, required(child, "target", source_));
        read_children(pci, place);
    }

    static std::optional<DeviceKind> device_kind_of(NcclPci kind) {
        switch (kind) {
            case NcclPci::gpu:
                return DeviceKind::gpu;
            case NcclPci::nic:
                return DeviceKind::nic;
            case NcclPci::nvswitch:
                return DeviceKind::nvswitch;
            case NcclPci::pcie_switch:
            case NcclPci::nothing:
            case NcclPci::unknown:
                break;
        }
        return std::nullopt;
    }

    void read_device(const XmlElement& pci, const Device& device) {
        const auto gpus = gpus_in(pci, source_);
        if (gpus.empty()) {
            Device only = device;
            for (const XmlElement& child : pci.children)
                if (child.name == "nic") read_ports(child, only);
            if (has_rows(pci)) rows_.push_back({int_size(host_.devices), &pci});
            return add_device(std::move(only), {&pci});
        }
        if (has_rows(pci)) rows_.push_back({int_size(host_.devices), &pci});
        // In a divided GPU either each part has rows or only the first.
        const auto first_with_rows =
            std::ranges::find_if(gpus, [](const XmlElement* gpu) { return has_rows(*gpu); });
        for (const XmlElement* gpu : gpus) {
            Device part = device;
            read_gpu(*gpu, part);
            const bool borrows = !has_rows(*gpu) && first_with_rows != gpus.end();
            rows_.push_back({int_size(host_.devices), borrows ? *first_with_rows : gpu});
            add_device(std::move(part), {gpu, &pci});
        }
        if (gpus.size() > 1) divided_.push_back(device.pci_address);
    }

    // Elements that may have tutti's attributes, the innermost first.
    using Elements = std::initializer_list<const XmlElement*>;

    static const std::string* find_own(Elements elements, std::string_view attribute) {
        for (const XmlElement* element : elements)
            if (const std::string* text = element->find(attribute)) return text;
        return nullptr;
    }

    std::int64_t position_in(Elements elements) const {
        for (const XmlElement* element : elements)
            if (element->find(nccl_own::position))
                return whole(*element, nccl_own::position, 0, source_);
        return WantedOrder::last;
    }

    void add_device(Device device, Elements elements) {
        if (const std::string* names = find_own(elements, nccl_own::names)) {
            device.names.clear();
            for (const std::string_view name : words_of(*names)) device.names.emplace_back(name);
        }
        if (const std::string* model = find_own(elements, nccl_own::model)) device.model = *model;
        wanted_.devices.push_back(position_in(elements));
        numbers_.push_back(number_of(device, elements));
        host_.devices.push_back(std::move(device));
    }

    // Returns the number of a GPU: dev, or else rank.
    std::int64_t number_of(const Device& device, Elements elements) const {
        const std::int64_t number = gpu_number(device, {"GPU"});
        if (number != WantedOrder::last) return number;
        const std::string* rank = find_own(elements, "rank");
        return rank ? decimal_number(*rank).value_or(WantedOrder::last) : WantedOrder::last;
    }

    // Sorts the devices before links, which refer to them, are read.
    void put_devices_in_order() {
        const bool has_own_order = std::ranges::any_of(
            wanted_.devices, [](auto wish) { return wish != WantedOrder::last; });
        std::vector<int> now_at = put_in_order(host_, wanted_);
        if (!has_own_order) now_at = put_gpus_in_order(host_, numbers_);
        for (NcclGpu& row : rows_) row.device = at(now_at, row.device);
        std::ranges::stable_sort(rows_, {}, &NcclGpu::device);
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (const std::string& address = host_.devices[i].pci_address; !address.empty())
                by_address_[address].push_back(static_cast<int>(i));
    }

    // Both switches of a pair have rows.
    void add_switch_links() {
        std::set<std::pair<int, int>> pairs;
        int lost = 0;
        const auto switch_at = [&](const std::string& text) -> std::optional<int> {
            const auto address = pci_address(text);
            const auto found = std::ranges::find(host_.pcie_switches, address.value_or(""),
                                                 &PcieSwitch::pci_address);
            if (!address || found == host_.pcie_switches.end()) return std::nullopt;
            return static_cast<int>(found - host_.pcie_switches.begin());
        };
        for (const auto& [from, to] : pci_links_) {
            const auto a = switch_at(from), b = switch_at(to);
            if (!a || !b)
                ++lost;
            else if (*a != *b)
                pairs.insert(std::minmax(*a, *b));
        }
        for (const auto& [a, b] : pairs) host_.switch_links.push_back({a, b});
        if (lost > 0)
            host_.not_seen.push_back(fmt::format(
                "the ends of {} pcilink rows: the file has no PCIe switches there", lost));
    }

    // On a kernel without NUMA nodes, NCCL writes numaid="-1" for all CPUs.
    void add_only_numa_node() {
        if (cpus_ != 1 || !host_.numa_nodes.empty() || host_.cores.empty()) return;
        NumaNode all{.os_index = 0};
        for (int core = 0; core < int_size(host_.cores); ++core) all.cores.push_back(core);
        host_.numa_nodes.push_back(std::move(all));
    }

    // RCCL writes the same attributes: there sm is meaningless, gcn="908" is gfx908, and gcn="910"
    // was the first name of gfx90a.
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
                 .gigabits = megabits > 0 ? static_cast<double>(megabits) / 1000 : 0,
                 .for_collectives = is_for_collectives(net)});
        }
    }

    // NCCL ignores nets without dev= and those with net="0". A file that leaves all numbers to NCCL
    // has no dev= at all.
    bool is_for_collectives(const XmlElement& net) const {
        return net.value("net") != "0" && (net.find("dev") || !nets_have_numbers_);
    }

    void note_what_is_missing() {
        host_.not_seen.push_back(
            "packages, caches, memory, and which CPUs share a core: NCCL's file lists only CPUs; "
            "each "
            "is assumed to be a core");
        const auto gpus = std::ranges::count(host_.devices, DeviceKind::gpu, &Device::kind);
        const bool has_rows = std::ranges::any_of(rows_, [](const NcclGpu& gpu) {
            return has_child(*gpu.element, "nvlink") || has_child(*gpu.element, "xgmi");
        });
        if (gpus > 1 && !has_rows)
            host_.not_seen.push_back(
                "links between the GPUs (NVLink, xGMI): this file leaves them to the driver");
        if (!unknown_.empty())
            host_.not_seen.push_back("the devices at " + listed(unknown_) +
                                     ": the file has no class=, no vendor and no links for them");
        if (!other_accelerators_.empty())
            host_.not_seen.push_back(note_on_accelerators(other_accelerators_));
        if (!divided_.empty())
            host_.not_seen.push_back(
                "how the parts of the GPU at " + listed(divided_) +
                " are connected and share its links: equal shares are assumed");
        const bool silent_nic = std::ranges::any_of(host_.devices, [](const Device& device) {
            return device.kind == DeviceKind::nic && device.ports.empty();
        });
        if (silent_nic)
            host_.not_seen.push_back(
                "names and speeds of some NICs: this file leaves them to the driver");
    }

    // Returns "0000:01:00.0, 0000:02:00.0 and 6 more".
    static std::string listed(const std::vector<std::string>& addresses) {
        constexpr std::size_t enough = 4;
        const auto shown = std::min(addresses.size(), enough);
        std::string text;
        for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + addresses[i];
        return addresses.size() > shown
                   ? fmt::format("{} and {} more", text, addresses.size() - shown)
                   : text;
    }

    const NcclTargets& targets_;
    bool nets_have_numbers_;
    const Source& source_;
    Host host_;
    int cpus_ = 0;
    std::vector<std::int64_t> numbers_;  // for each device
    std::vector<std::pair<std::string, std::string>> pci_links_;
    std::vector<OtherAccelerator> other_accelerators_;
    WantedOrder wanted_;
    std::set<int> threads_, nodes_;
    std::set<std::string> addresses_;
    std::vector<std::string> unknown_, divided_;
    NcclAddresses by_address_;
    std::vector<NcclGpu> rows_;
};

bool has_net_with_number(const XmlElement& element) {
    return (element.name == "net" && element.find("dev")) ||
           std::ranges::any_of(element.children, has_net_with_number);
}

// NCCL merges the files of hosts that share a network of NVSwitches. Like NCCL, treat the hidden
// NVSwitches of all hosts as one.
void join_hosts(std::vector<Host>& hosts) {
    const auto has_hidden_switch = [](const Host& host) {
        return std::ranges::any_of(host.devices, [](const Device& device) {
            return device.kind == DeviceKind::nvswitch && device.pci_address.empty();
        });
    };
    const bool is_fabric = std::ranges::count_if(hosts, has_hidden_switch) > 1;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (hosts[i].name.empty()) hosts[i].name = fmt::format("host{}", i);
        if (is_fabric && has_hidden_switch(hosts[i])) hosts[i].nvlink_fabric = "fabric0";
    }
}

}  // namespace

Machine read_nccl_xml(const Source& source) {
    const XmlElement system = parse_xml(source);
    // NCCL may have merged the files of several hosts; each <cpu> then has its host.
    std::map<std::string, std::size_t> position_of;
    std::vector<HostReader> hosts;
    const NcclTargets targets = targets_in(system, source);
    const bool nets_have_numbers = has_net_with_number(system);
    for (const XmlElement& cpu : system.children) {
        if (cpu.name != "cpu") continue;
        const auto [found, is_new] = position_of.try_emplace(cpu.value("host_hash"), hosts.size());
        if (is_new) hosts.emplace_back(targets, nets_have_numbers, source);
        hosts[found->second].read_cpu(cpu);
    }
    if (hosts.empty())
        source.fail(system.line, "the file has no <cpu>; use the file of NCCL_TOPO_DUMP_FILE");
    Machine machine;
    for (HostReader& host : hosts) machine.hosts.push_back(host.result());
    if (hosts.size() > 1) join_hosts(machine.hosts);
    return machine;
}

}  // namespace tutti
