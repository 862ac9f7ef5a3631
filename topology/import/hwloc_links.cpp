// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/index.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/hwloc_parts.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

// hwloc's matrices are lists of words, split into several elements.
std::vector<std::string_view> words_in(const XmlElement& matrix, std::string_view name) {
    std::vector<std::string_view> words;
    for (const XmlElement& child : matrix.children)
        if (child.name == name)
            for (const std::string_view word : words_of(child.text)) words.push_back(word);
    return words;
}

// A square matrix of numbers between objects; objects that are not read are none.
struct Matrix {
    std::vector<std::optional<LinkEnd>> objects;
    std::vector<std::int64_t> values;

    std::int64_t at(std::size_t from, std::size_t to) const {
        return values[from * objects.size() + to];
    }
};

Matrix matrix_of(const XmlElement& element, const HwlocHost& host, const Source& source) {
    const auto indexes = words_in(element, "indexes");
    const auto values = words_in(element, "u64values");
    const auto count = as_size(whole(element, "nbobjs", 0, source, 0, 1 << 16));
    if (indexes.size() != count || values.size() != count * count)
        source.fail(element.line,
                    fmt::format("{} has {} indexes and {} values, but nbobjs={} requires {} and {}",
                                in_quotes(element.value("name")), indexes.size(), values.size(),
                                count, count, count * count));
    Matrix matrix;
    for (const std::string_view index : indexes) {
        const std::size_t colon = index.find(':');
        const bool typed = colon != std::string_view::npos;
        const auto number = decimal_number(typed ? index.substr(colon + 1) : index);
        if (!number) source.fail(element.line, in_quotes(index) + " is not an index of an object");
        const auto found = host.named.find(
            {typed ? std::string(index.substr(0, colon)) : element.value("type"), *number});
        matrix.objects.push_back(found == host.named.end() ? std::nullopt
                                                           : std::optional(found->second));
    }
    for (const std::string_view value : values) {
        const auto number = decimal_number(value);
        if (!number || *number < 0)
            source.fail(element.line, in_quotes(value) + " is not a bandwidth");
        matrix.values.push_back(*number);
    }
    return matrix;
}

// Parses the three numbers of "2.9.0"; none if the text does not begin with them.
std::optional<std::array<std::int64_t, 3>> version_in(std::string_view text) {
    std::array<std::int64_t, 3> version{};
    for (std::int64_t& part : version) {
        const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
        const auto number = decimal_number(text.substr(0, digits));
        if (!number) return std::nullopt;
        part = *number;
        text.remove_prefix(digits);
        if (text.starts_with('.')) text.remove_prefix(1);
    }
    return version;
}

/// The directions of an NVLink that a matrix includes.
enum class Counted { one_direction, both_directions };

// Returns hwloc's MB/s of one NVLink.
std::int64_t hwloc_megabytes(int compute_capability, Counted counted) {
    constexpr int pascal = 60, ampere = 80, blackwell = 100;
    if (compute_capability == pascal) return 20000;
    if (compute_capability == 0 || compute_capability >= blackwell) return 50000;
    const bool can_be_both = compute_capability >= ampere;
    return can_be_both && counted == Counted::both_directions ? 50000 : 25000;
}

Link nvlinks(std::int64_t megabytes, const Device& gpu, Counted counted) {
    const auto of_one = static_cast<double>(hwloc_megabytes(gpu.compute_capability, counted));
    const double links = std::round(static_cast<double>(megabytes) / of_one);
    const int count = static_cast<int>(std::clamp(links, 1., double{most_links}));
    return {.kind = LinkKind::nvlink, .count = count};
}

Link xgmi_link(std::int64_t, const Device&, Counted) { return {.kind = LinkKind::xgmi}; }

// Returns the GPU at an end of a link, or null.
const Device* gpu_at(LinkEnd end, const Host& host) {
    if (end.kind != LinkEnd::Kind::device) return nullptr;
    const Device& device = host.devices[end.index];
    return device.kind == DeviceKind::gpu ? &device : nullptr;
}

// hwloc 2.9.0 counted both directions of NVLink 3 and 4 (A100 to H200), 50 GB/s; since 2.9.1 it
// counts one, 25 GB/s. The numbers decide first, as the version may be missing, or a distribution
// may have fixed 2.9.0.
Counted counted_in(const Matrix& matrix, const Host& host, std::string_view version) {
    constexpr std::array correction{std::int64_t{2}, std::int64_t{9}, std::int64_t{1}};
    const auto objects = matrix.objects.size();
    for (std::size_t i = 0; i < objects; ++i) {
        const Device* gpu = matrix.objects[i] ? gpu_at(*matrix.objects[i], host) : nullptr;
        if (!gpu) continue;
        const auto one = hwloc_megabytes(gpu->compute_capability, Counted::one_direction);
        const auto both = hwloc_megabytes(gpu->compute_capability, Counted::both_directions);
        if (one == both) continue;
        std::int64_t links = 0;  // number of the GPU's links if one direction is counted
        for (std::size_t j = 0; j < objects; ++j) {
            if (j == i) continue;
            if (matrix.at(i, j) % both != 0) return Counted::one_direction;
            links += std::min<std::int64_t>(matrix.at(i, j) / one, most_links);
        }
        if (links > most_nvlinks(gpu->compute_capability)) return Counted::both_directions;
    }
    const auto known = version_in(version);
    return known && *known < correction ? Counted::both_directions : Counted::one_direction;
}

void add_links(const Matrix& matrix, Host& host, Counted counted,
               Link (*link_of)(std::int64_t megabytes, const Device& gpu, Counted counted)) {
    for (std::size_t i = 0; i < matrix.objects.size(); ++i)
        for (std::size_t j = i + 1; j < matrix.objects.size(); ++j) {
            const auto a = matrix.objects[i], b = matrix.objects[j];
            const auto megabytes = std::max(matrix.at(i, j), matrix.at(j, i));
            if (!a || !b || *a == *b || megabytes == 0) continue;
            const Device* gpu = gpu_at(*a, host);
            if (!gpu) gpu = gpu_at(*b, host);
            if (!gpu) continue;
            Link link = link_of(megabytes, *gpu, counted);
            link.a = *a;
            link.b = *b;
            link.bandwidth_GBps = bandwidth_GBps_of(link, host);
            host.links.push_back(link);
        }
}

}  // namespace

void read_hwloc_links(const XmlElement& topology, HwlocHost& into, const Source& source) {
    for (const XmlElement& element : topology.children) {
        if (element.name != "distances2" && element.name != "distances2hetero") continue;
        if (element.value("indexing") == "os") continue;  // devices have no OS index
        const std::string name = element.value("name");
        if (name == "NVLinkBandwidth") {
            const Matrix matrix = matrix_of(element, into, source);
            add_links(matrix, into.host, counted_in(matrix, into.host, into.version), nvlinks);
        }
        if (name == "XGMIBandwidth")
            add_links(matrix_of(element, into, source), into.host, Counted::one_direction,
                      xgmi_link);
    }
}

}  // namespace tutti
