// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "topology/import/hwloc_parts.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

// hwloc's matrices lie in the text as lists of words, broken into several elements.
std::vector<std::string_view> words_in(const XmlElement& matrix, std::string_view name) {
    std::vector<std::string_view> words;
    for (const XmlElement& child : matrix.children)
        if (child.name == name)
            for (const std::string_view word : words_of(child.text)) words.push_back(word);
    return words;
}

// A square of numbers between objects; those that are no device or package of ours are none.
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
                    fmt::format("{} has {} indexes and {} values where nbobjs={} wants {} and {}",
                                in_quotes(element.value("name")), indexes.size(), values.size(),
                                count, count, count * count));
    Matrix matrix;
    for (const std::string_view index : indexes) {
        const std::size_t colon = index.find(':');
        const bool typed = colon != std::string_view::npos;
        const auto number = decimal_number(typed ? index.substr(colon + 1) : index);
        if (!number) source.fail(element.line, "no object has the index " + in_quotes(index));
        const auto found = host.named.find(
            {typed ? std::string(index.substr(0, colon)) : element.value("type"), *number});
        matrix.objects.push_back(found == host.named.end() ? std::nullopt
                                                           : std::optional(found->second));
    }
    for (const std::string_view value : values) {
        const auto number = decimal_number(value);
        if (!number || *number < 0)
            source.fail(element.line, in_quotes(value) + " is no bandwidth");
        matrix.values.push_back(*number);
    }
    return matrix;
}

// Of one NVLink as hwloc counts it, in MB/s: from NVLink 3 on both directions together.
double hwloc_megabytes(int compute_capability) {
    if (compute_capability == 60) return 20000;
    return compute_capability == 70 ? 25000 : 50000;
}

Link nvlinks(std::int64_t megabytes, const Device& gpu) {
    const double links =
        std::round(static_cast<double>(megabytes) / hwloc_megabytes(gpu.compute_capability));
    const int count = static_cast<int>(std::clamp(links, 1., 1024.));
    return {.kind = LinkKind::nvlink, .count = count};
}

Link xgmi_link(std::int64_t, const Device&) { return {.kind = LinkKind::xgmi}; }

// The GPU at either end knows what the matrix counts.
const Device* gpu_at(LinkEnd end, const Host& host) {
    if (end.kind != LinkEnd::Kind::device) return nullptr;
    const Device& device = host.devices[end.index];
    return device.kind == DeviceKind::gpu ? &device : nullptr;
}

void add_links(const Matrix& matrix, Host& host,
               Link (*link_of)(std::int64_t megabytes, const Device& gpu)) {
    for (std::size_t i = 0; i < matrix.objects.size(); ++i)
        for (std::size_t j = i + 1; j < matrix.objects.size(); ++j) {
            const auto a = matrix.objects[i], b = matrix.objects[j];
            const auto megabytes = std::max(matrix.at(i, j), matrix.at(j, i));
            if (!a || !b || *a == *b || megabytes == 0) continue;
            const Device* gpu = gpu_at(*a, host);
            if (!gpu) gpu = gpu_at(*b, host);
            if (!gpu) continue;
            Link link = link_of(megabytes, *gpu);
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
        if (element.value("indexing") == "os") continue;  // devices have no such index
        const std::string name = element.value("name");
        if (name == "NVLinkBandwidth")
            add_links(matrix_of(element, into, source), into.host, nvlinks);
        if (name == "XGMIBandwidth")
            add_links(matrix_of(element, into, source), into.host, xgmi_link);
    }
}

}  // namespace tutti
