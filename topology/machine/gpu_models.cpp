// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/gpu_models.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace tutti {
namespace {

// Chips have blocks of PCI device numbers.
struct Block {
    int first, last;
    int capability;
};
constexpr Block nvidia[] = {
    {0x15f0, 0x15ff, 60},   // P100
    {0x1b00, 0x1d7f, 61},   // other Pascal
    {0x1d80, 0x1dff, 70},   // V100, Titan V
    {0x1e00, 0x1fff, 75},   // Turing
    {0x2080, 0x20ff, 80},   // A100, A800, A30
    {0x2180, 0x21ff, 75},   // Turing without RT cores
    {0x2200, 0x22ff, 86},   // A40, A10 and other Ampere
    {0x2300, 0x23ff, 90},   // H100, H200, GH200
    {0x2400, 0x25ff, 86},   // A2, A16 and other Ampere
    {0x2600, 0x28ff, 89},   // Ada
    {0x2900, 0x297f, 100},  // B200, GB200
    {0x2b00, 0x2fff, 120},  // Blackwell with graphics
    {0x3180, 0x31ff, 103},  // B300
};

struct Name {
    std::string_view word;
    int capability;
};
constexpr Name names[] = {
    {"P100", 60},  {"V100", 70},  {"V100S", 70},  {"2080", 75},  {"A100", 80},   {"A800", 80},
    {"A30", 80},   {"A40", 86},   {"A4500", 86},  {"A5000", 86}, {"A5500", 86},  {"A6000", 86},
    {"3090", 86},  {"H100", 90},  {"H800", 90},   {"H200", 90},  {"H20", 90},    {"GH200", 90},
    {"B100", 100}, {"B200", 100}, {"GB200", 100}, {"B300", 103}, {"GB300", 103},
};

struct Chip {
    int first, last;
    std::string_view instruction_set;
};
constexpr Chip amd[] = {
    {0x66a0, 0x66af, "gfx906"},  // MI50, MI60
    {0x7388, 0x738e, "gfx908"},  // MI100
    {0x7408, 0x740f, "gfx90a"},  // MI210, MI250
    {0x74a0, 0x74bf, "gfx942"},  // MI300, MI325
    {0x75a0, 0x75bf, "gfx950"},  // MI350, MI355
};

std::optional<int> device_number(std::string_view pci_id, std::string_view vendor) {
    if (!pci_id.starts_with(vendor)) return std::nullopt;
    pci_id.remove_prefix(vendor.size());
    int number = 0;
    const auto end = pci_id.data() + pci_id.size();
    if (std::from_chars(pci_id.data(), end, number, 16).ptr != end) return std::nullopt;
    return number;
}

}  // namespace

int compute_capability_of(std::string_view pci_id) {
    const auto device = device_number(pci_id, "10de:");
    if (!device) return 0;
    for (const Block& block : nvidia)
        if (*device >= block.first && *device <= block.last) return block.capability;
    return 0;
}

int compute_capability_of_model(std::string_view model) {
    const auto is_part_of_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0;
    };
    for (auto first = model.begin(); first != model.end();) {
        first = std::find_if(first, model.end(), is_part_of_word);
        const auto last = std::find_if_not(first, model.end(), is_part_of_word);
        for (const Name& name : names)
            if (std::string_view(first, last) == name.word) return name.capability;
        first = last;
    }
    return 0;
}

std::string instruction_set_of(std::string_view pci_id) {
    const auto device = device_number(pci_id, "1002:");
    if (!device) return "";
    for (const Chip& chip : amd)
        if (*device >= chip.first && *device <= chip.last) return std::string(chip.instruction_set);
    return "";
}

}  // namespace tutti
