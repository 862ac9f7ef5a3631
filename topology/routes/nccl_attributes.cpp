// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/nccl_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "base/source.hpp"
#include "topology/import/nccl_own.hpp"
#include "topology/machine/gpu_models.hpp"

namespace tutti::nccl {
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

// "3" where the source calls it "GPU3".
std::optional<std::string> number_of(const Device& device) {
    if (device.kind != DeviceKind::gpu) return std::nullopt;
    for (const std::string& name : device.names)
        if (name.starts_with("GPU") && decimal_number(name.substr(3))) return name.substr(3);
    return std::nullopt;
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

}  // namespace

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

bool is_amd(const Device& gpu) {
    return gpu.pci_id.starts_with("1002:") || gpu.model.starts_with("gfx");
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
    return escaped(value).size() > nccl_own::longest ? "" : attribute(name, value);
}

std::string own_attributes(const Device& device) {
    std::string names, text;
    for (const std::string& name : device.names) names += (names.empty() ? "" : " ") + name;
    if (device.names != names_in_file(device)) text += own_attribute(nccl_own::names, names);
    if (device.model != instruction_set_in(device))
        text += own_attribute(nccl_own::model, device.model);
    return text;
}

}  // namespace tutti::nccl
