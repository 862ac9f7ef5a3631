// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/sysfs_devices.hpp"
#include "topology/import/nccl_parts.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

constexpr int nvidia = 0x10de;
constexpr int pci_bridge = 0x0604;

// Returns class and subclass; none if the file leaves them to NCCL.
std::optional<int> class_of(const XmlElement& pci, const Source& source) {
    const std::string text = pci.value("class");
    if (text.empty()) return std::nullopt;
    const auto number = hexadecimal_number(text);
    if (!number || *number > 0xffffff)
        source.fail(pci.line, fmt::format("class={} is not like \"0x030200\"", in_quotes(text)));
    return static_cast<int>(*number >> 8);
}

NcclPci nccl_kind(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::gpu:
            return NcclPci::gpu;
        case DeviceKind::nic:
            return NcclPci::nic;
        case DeviceKind::nvswitch:
            break;
    }
    return NcclPci::nvswitch;
}

NcclPci kind_by_class(int pci_class, const std::string& id) {
    if (pci_class == pci_bridge) return NcclPci::pcie_switch;
    const auto vendor = id.empty() ? nvidia : hexadecimal_number(id.substr(0, 4)).value_or(0);
    const auto kind = device_kind(pci_class, static_cast<int>(vendor));
    return kind ? nccl_kind(*kind) : NcclPci::nothing;
}

// Recognises NICs by vendors that make only NICs (Mellanox, Cray, Pensando) and by Amazon's
// devices.
NcclPci kind_by_id(const std::string& id) {
    const auto is_any = [&](std::initializer_list<std::string_view> beginnings) {
        return std::ranges::any_of(beginnings, [&](auto part) { return id.starts_with(part); });
    };
    if (is_any({"10de:1ac2", "10de:1af1", "10de:22a3"})) return NcclPci::nvswitch;
    if (compute_capability_of(id) > 0 || !instruction_set_of(id).empty()) return NcclPci::gpu;
    if (is_any({"15b3:", "17db:", "1dd8:", "1d0f:ec2", "1d0f:efa"})) return NcclPci::nic;
    return NcclPci::unknown;
}

void collect_targets(const XmlElement& element, const Source& source, NcclTargets& targets) {
    for (const XmlElement& child : element.children) {
        const bool is_row = child.name == "nvlink" || child.name == "xgmi";
        if (is_row && !child.value("tclass").empty())
            if (const auto address = pci_address(child.value("target")))
                targets.try_emplace(*address, target_of(child, source));
        collect_targets(child, source, targets);
    }
}

}  // namespace

bool has_child(const XmlElement& element, std::string_view name) {
    return std::ranges::find(element.children, name, &XmlElement::name) != element.children.end();
}

bool has_rows(const XmlElement& element) {
    return has_child(element, "nvlink") || has_child(element, "xgmi") || has_child(element, "c2c");
}

NcclTarget target_of(const XmlElement& row, const Source& source) {
    const std::string text = row.value("tclass");
    if (text.empty()) return NcclTarget::nvswitch;  // like NCCL
    const auto pci_class = hexadecimal_number(text);
    if (!pci_class)
        source.fail(row.line, fmt::format("tclass={} is not like \"0x030200\"", in_quotes(text)));
    if (*pci_class == 0x068000) return NcclTarget::nvswitch;
    if (*pci_class == 0x068001) return NcclTarget::cpu;
    const auto family = *pci_class >> 16;
    return family == 0x03 || family == 0x12 ? NcclTarget::gpu : NcclTarget::other;
}

NcclTargets targets_in(const XmlElement& system, const Source& source) {
    NcclTargets targets;
    collect_targets(system, source, targets);
    return targets;
}

NcclPci kind_of(const XmlElement& pci, const std::string& address, const std::string& id,
                const NcclTargets& targets, const Source& source) {
    const auto pci_class = class_of(pci, source);
    if (has_child(pci, "gpu") || has_rows(pci)) return NcclPci::gpu;
    if (has_child(pci, "nic")) return NcclPci::nic;
    if (pci_class) return kind_by_class(*pci_class, id);
    if (has_child(pci, "pci")) return NcclPci::pcie_switch;
    const auto target = targets.find(address);
    if (target != targets.end() && target->second == NcclTarget::gpu) return NcclPci::gpu;
    if (target != targets.end() && target->second == NcclTarget::nvswitch) return NcclPci::nvswitch;
    return kind_by_id(id);
}

std::vector<const XmlElement*> gpus_in(const XmlElement& pci, const Source& source) {
    constexpr std::size_t most_parts = 64;
    std::vector<const XmlElement*> gpus;
    const auto share_one = [](const XmlElement& a, const XmlElement& b) {
        return !a.value("dev").empty() && a.value("dev") == b.value("dev") &&
               a.value("mlopart") == b.value("mlopart");
    };
    for (const XmlElement& child : pci.children) {
        if (child.name != "gpu") continue;
        if (std::ranges::any_of(gpus, [&](const auto* gpu) { return share_one(*gpu, child); }))
            continue;
        gpus.push_back(&child);
        if (gpus.size() > most_parts)
            source.fail(child.line, "a GPU has at most 64 parts; use the file of NCCL");
    }
    return gpus;
}

}  // namespace tutti
