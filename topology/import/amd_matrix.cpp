// SPDX-License-Identifier: Apache-2.0
// Tables and JSON of AMD's tools: rocm-smi --showtopo names GPUs by number, amd-smi topology by
// address.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "base/json_reader.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/pasted_lines.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

constexpr std::string_view amd_pair = " between drm devices ";

enum class AmdTable { none, link_type, hops, access, other };

// Recognises "=== Link Type between two GPUs ===" and "LINK TYPE TABLE:", and in the JSON of
// rocm-smi "(Topology) Link type between DRM devices 0 and 1".
AmdTable amd_table(std::string_view line) {
    const std::string lower = in_lower_case(line);
    const auto has = [&](std::string_view part) { return lower.find(part) != nowhere; };
    if (!has("between two gpus") && !has(amd_pair) && !lower.ends_with(" table:"))
        return AmdTable::none;
    if (has("link type")) return AmdTable::link_type;
    if (has("hops")) return AmdTable::hops;
    return has("access") ? AmdTable::access : AmdTable::other;
}

std::size_t amd_title_in(std::string_view line) {
    if (amd_table(line) == AmdTable::none) return nowhere;
    for (const std::string_view title : {"==", "LINK TYPE TABLE:", "HOPS TABLE:", "ACCESS TABLE:",
                                         "WEIGHT TABLE:", "NUMA BW TABLE:"})
        if (const std::size_t start = line.find(title); start != nowhere) return start;
    return nowhere;
}

using AmdPair = std::pair<int, int>;

struct AmdHost {
    std::string name;
    std::vector<std::string> gpus;
    std::map<int, int> numa_nodes;  // by the number of the GPU
    std::set<AmdPair> xgmi, far, refused;
    std::set<AmdTable> tables;

    // Returns false if the word is not a link type.
    bool add_cell(AmdTable table, AmdPair pair, std::string_view word) {
        const std::string cell = in_lower_case(word);
        if (table == AmdTable::link_type) {
            constexpr std::string_view known[] = {"xgmi", "pcie", "self", "n/a", "unknown", "0"};
            if (cell == "xgmi") xgmi.insert(pair);
            return std::ranges::find(known, cell) != std::end(known);
        }
        if (table == AmdTable::hops) {
            if (const auto hops = decimal_number(word); hops && *hops > 1) far.insert(pair);
        } else if (table == AmdTable::access && (cell == "disabled" || cell == "false")) {
            refused.insert(std::minmax(pair.first, pair.second));
        }
        return true;
    }

    void add_numa_node(std::optional<std::int64_t> gpu, std::string_view text) {
        const auto node = decimal_number(text);
        if (gpu && node && *node >= 0 && *node < most_cpus && *gpu >= 0 && *gpu < most_cpus)
            numa_nodes[static_cast<int>(*gpu)] = static_cast<int>(*node);
    }
};

constexpr std::string_view no_link_type = " is not a link type; use XGMI, PCIE or N/A";

class AmdParser {
public:
    AmdParser(const Source& source, const PastedPart& part) : source_(source), part_(part) {}

    std::vector<AmdHost> parse() {
        for (const PastedLine& line : part_.lines) read(line);
        end_table();
        return std::move(hosts_);
    }

private:
    void read(const PastedLine& line) {
        const auto words = words_of(line.text);
        if (const AmdTable kind = amd_table(line.text); kind != AmdTable::none)
            return begin_table(kind, line.number);
        if (const std::string title = host_in_title(line.text); !title.empty()) title_ = title;
        if (words.empty()) return end_table();
        if (table_ != AmdTable::none && columns_.empty()) return read_header(words, line.number);
        if (table_ != AmdTable::none && next_ < columns_.size())
            return read_row(words, line.number);
        end_table();
        read_numa_node(line.text);
    }

    void begin_table(AmdTable kind, int line) {
        end_table();
        if (hosts_.empty() || hosts_.back().tables.contains(kind) ||
            (!title_.empty() && title_ != hosts_.back().name))
            if (kind != AmdTable::other || hosts_.empty()) hosts_.push_back({.name = title_});
        hosts_.back().tables.insert(kind);
        table_ = kind;
        line_ = line;
    }

    // A blank line may follow the title.
    void end_table() {
        if (table_ == AmdTable::none || (columns_.empty() && next_ == 0 && !has_ended_)) {
            has_ended_ = table_ != AmdTable::none;
            return;
        }
        if (next_ < columns_.size())
            source_.fail(line_, fmt::format("the row of {} is missing; use the complete output",
                                            in_quotes(columns_[next_])));
        table_ = AmdTable::none;
        columns_.clear();
        next_ = 0;
        has_ended_ = false;
    }

    void read_header(const std::vector<std::string_view>& words, int line) {
        line_ = line;
        columns_.assign(words.begin(), words.end());
        std::vector<std::string>& gpus = hosts_.back().gpus;
        if (gpus.empty()) gpus = columns_;
        if (gpus.size() > 1024) source_.fail(line, "more than 1024 GPUs");
        if (gpus != columns_)
            source_.fail(line,
                         "the GPUs differ from those of the table before; use the complete "
                         "output for one host");
        const auto is_gpu = [](std::string_view name) {
            return name.starts_with("GPU") || pci_address(name).has_value();
        };
        if (!std::ranges::all_of(columns_, is_gpu) ||
            std::set(columns_.begin(), columns_.end()).size() != columns_.size())
            source_.fail(line, "the line with the names of the GPUs is missing");
    }

    void read_row(const std::vector<std::string_view>& words, int line) {
        line_ = line;
        if (words[0] != columns_[next_])
            source_.fail(line, fmt::format("{} instead of the row of {}; use the complete output",
                                           in_quotes(words[0]), in_quotes(columns_[next_])));
        if (words.size() < columns_.size() + 1)
            source_.fail(
                line, fmt::format("{} cells, but the header has {} GPUs; use the complete output",
                                  words.size() - 1, columns_.size()));
        for (std::size_t column = 0; column < columns_.size(); ++column)
            if (column != next_ &&
                !hosts_.back().add_cell(table_, {static_cast<int>(next_), static_cast<int>(column)},
                                        words[column + 1]))
                source_.fail(line, in_quotes(words[column + 1]) + std::string(no_link_type));
        ++next_;
    }

    // Reads "GPU[0]   : (Topology) Numa Node: 0".
    void read_numa_node(std::string_view line) {
        constexpr std::string_view start = "GPU[", title = "Numa Node:";
        if (!line.starts_with(start) || line.find(title) == nowhere || hosts_.empty()) return;
        const auto words = words_of(line.substr(line.find(title) + title.size()));
        if (!words.empty())
            hosts_.back().add_numa_node(
                decimal_number(line.substr(start.size(), line.find(']') - start.size())), words[0]);
    }

    const Source& source_;
    const PastedPart& part_;
    std::vector<AmdHost> hosts_;
    std::string title_;
    AmdTable table_ = AmdTable::none;
    bool has_ended_ = false;  // a blank line after the title
    std::vector<std::string> columns_;
    std::size_t next_ = 0;  // row
    int line_ = 1;
};

constexpr JsonRules amd_rules{.remedy = "use the complete output of amd-smi topology --json",
                              .numbers = JsonRules::Numbers::from_0};
constexpr int most_amd_gpus = 1024;

bool is_amd_smi_json(std::string_view text) {
    return text.starts_with('[') && text.find("\"gpu\"") != nowhere;
}

// The name of a device in tutti's own JSON may contain the words that rocm-smi prints for a pair of
// GPUs. That JSON has a field "kind"; in a name, the quotes would be escaped.
bool is_rocm_smi_json(std::string_view text) {
    return text.starts_with('{') && text.find("\"kind\"") == nowhere &&
           in_lower_case(text).find(amd_pair) != nowhere;
}

// Cells are words or numbers ("num_hops": 1).
void add_json_cell(AmdHost& host, AmdTable table, AmdPair pair, const JsonPlace& place) {
    const std::int64_t* number = place.value().whole_number();
    host.tables.insert(table);
    if (pair.first != pair.second &&
        !host.add_cell(table, pair, number ? std::to_string(*number) : place.text()))
        place.fail_as("is not a link type");
}

// Fields of amd-smi topology --json: in a list of links since ROCm 6.2, before in objects.
struct AmdField {
    AmdTable table;
    std::string_view of_link, of_gpu;
};
constexpr AmdField amd_fields[] = {{AmdTable::link_type, "link_type", "link_type"},
                                   {AmdTable::hops, "num_hops", "hops"},
                                   {AmdTable::access, "link_status", "link_accessibility"}};

AmdHost read_amd_smi_json(const JsonValue& json, const Source& source) {
    const JsonPlace file(json, source, amd_rules);
    AmdHost host;
    std::map<int, int> position_of;  // by number
    const auto number_in = [](const JsonPlace& place) {
        return place.needed("gpu").whole_number(0, most_amd_gpus);
    };
    for (std::size_t i = 0; i < file.list().size(); ++i) {
        const JsonPlace gpu = file.item(i);
        const int number = number_in(gpu);
        if (!position_of.emplace(number, static_cast<int>(i)).second)
            gpu.fail_as(fmt::format("GPU {} appears twice", number));
        const auto address = gpu.field("bdf");
        host.gpus.push_back(address ? address->name() : fmt::format("GPU{}", number));
    }
    const auto position = [&](int number, const JsonPlace& place) {
        const auto found = position_of.find(number);
        if (found == position_of.end())
            place.fail(fmt::format("has GPU {}, which the file lacks", number));
        return found->second;
    };
    for (int i = 0; i < int_size(host.gpus); ++i) {
        const JsonPlace gpu = file.item(as_size(i));
        if (const auto links = gpu.field("links"))
            for (std::size_t j = 0; j < links->list().size(); ++j) {
                const JsonPlace link = links->item(j);
                const AmdPair pair{i, position(number_in(link), link)};
                for (const AmdField& field : amd_fields)
                    if (const auto cell = link.field(field.of_link))
                        add_json_cell(host, field.table, pair, *cell);
            }
        for (const AmdField& field : amd_fields)
            if (const auto cells = gpu.field(field.of_gpu))
                for (const JsonField& cell : cells->object()) {
                    constexpr std::string_view start = "gpu_";
                    const JsonPlace place = cells->child(cell);
                    const auto number = cell.name.starts_with(start)
                                            ? tutti::number_in<int>(cell.name.substr(start.size()))
                                            : std::nullopt;
                    if (!number) place.fail("is not the cell of a GPU");
                    add_json_cell(host, field.table, {i, position(*number, place)}, place);
                }
    }
    return host;
}

// Reads "card0": {"(Topology) Numa Node": "0"} and "(Topology) Hops between DRM devices 0 and 1":
// "1" in "system", which has each pair once.
AmdHost read_rocm_smi_json(const JsonValue& json, const Source& source) {
    constexpr std::string_view card = "card";
    const JsonPlace file(json, source, amd_rules);
    AmdHost host;
    std::map<int, int> position_of;  // by number, in ascending order
    for (const JsonField& field : file.object()) {
        if (!field.name.starts_with(card)) continue;
        const JsonPlace place = file.child(field);
        const auto number = number_in<int>(std::string_view(field.name).substr(card.size()));
        if (!number || *number < 0 || *number > most_amd_gpus) place.fail("is not a GPU");
        position_of.emplace(*number, 0);
        if (const auto node = place.field("(Topology) Numa Node"))
            host.add_numa_node(*number, node->text());
    }
    for (auto& [number, position] : position_of) {
        position = int_size(host.gpus);
        host.gpus.push_back(fmt::format("GPU{}", number));
    }
    const JsonPlace system = file.needed("system");
    for (const JsonField& field : system.object()) {
        const std::string name = in_lower_case(field.name);
        const std::size_t start = name.find(amd_pair);
        if (start == nowhere) continue;
        const JsonPlace place = system.child(field);
        const auto words = words_of(std::string_view(name).substr(start + amd_pair.size()));
        std::vector<int> pair;
        for (const std::string_view word : words)
            if (const auto number = number_in<int>(word); number && position_of.contains(*number))
                pair.push_back(position_of.at(*number));
        if (words.size() != 3 || pair.size() != 2) place.fail("is not about two GPUs of the file");
        add_json_cell(host, amd_table(name), {pair[0], pair[1]}, place);
        add_json_cell(host, amd_table(name), {pair[1], pair[0]}, place);
    }
    return host;
}

Host host_of(const AmdHost& read, const Source& source) {
    Host host{.name = read.name};
    std::set<int> nodes;
    for (std::size_t i = 0; i < read.gpus.size(); ++i) {
        Device gpu{.kind = DeviceKind::gpu, .names = {read.gpus[i]}};
        if (const auto address = pci_address(read.gpus[i])) gpu.pci_address = *address;
        const auto number = read.gpus[i].starts_with("GPU")
                                ? decimal_number(std::string_view(read.gpus[i]).substr(3))
                                : std::nullopt;
        const auto node = read.numa_nodes.find(static_cast<int>(number.value_or(-1)));
        if (node != read.numa_nodes.end()) gpu.numa_node = node->second;
        if (gpu.numa_node) nodes.insert(*gpu.numa_node);
        host.devices.push_back(std::move(gpu));
    }
    for (const int node : nodes) host.numa_nodes.push_back({.os_index = node});
    for (const auto& [a, b] : read.xgmi) {
        if (!read.xgmi.contains({b, a}))
            source.fail(
                1, fmt::format("XGMI from {} to {} but not back", in_quotes(read.gpus[as_size(a)]),
                               in_quotes(read.gpus[as_size(b)])));
        if (a > b || read.far.contains({a, b})) continue;
        Link link{.kind = LinkKind::xgmi,
                  .a = {LinkEnd::Kind::device, a},
                  .b = {LinkEnd::Kind::device, b}};
        link.bandwidth_GBps = bandwidth_GBps_of(link, host);
        host.links.push_back(link);
    }
    for (const auto& [a, b] : read.refused) host.no_peer_access.push_back({a, b});
    host.not_seen.push_back(
        "CPUs, NICs, PCIe switches, memory and models: AMD's tools do not print "
        "them with the topology");
    if (nodes.empty())
        host.not_seen.push_back("the NUMA nodes of the GPUs: rocm-smi --showtoponuma prints them");
    if (!read.tables.contains(AmdTable::link_type))
        host.not_seen.push_back("links between the GPUs: the table of link types is missing");
    if (!host.links.empty())
        host.not_seen.push_back(
            "the number and speed of xGMI links between two GPUs: assumed 1 link of the slowest "
            "model");
    return host;
}

}  // namespace

bool looks_like_amd_matrix(std::string_view text) {
    if (text.starts_with('{')) return is_rocm_smi_json(text);
    return is_amd_smi_json(text) || !pasted_parts(text, amd_title_in).empty();
}

Machine read_amd_matrix(const Source& source) {
    const std::string_view text = source.text();
    const std::string_view content =
        text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (is_amd_smi_json(content) || is_rocm_smi_json(content)) {
        const JsonValue json = parse_json(source);
        const AmdHost host = content.starts_with('[') ? read_amd_smi_json(json, source)
                                                      : read_rocm_smi_json(json, source);
        return machine_of({host_of(host, source)});
    }
    std::vector<Host> hosts;
    for (const PastedPart& part : pasted_parts(text, amd_title_in))
        for (const AmdHost& read : AmdParser(source, part).parse()) {
            if (read.gpus.empty()) continue;
            hosts.push_back(host_of(read, source));
            if (hosts.back().name.empty()) hosts.back().name = part.host;
        }
    if (hosts.empty())
        source.fail(1,
                    "the tables of the GPUs are empty; use the complete output of rocm-smi "
                    "--showtopo or amd-smi topology");
    return machine_of(std::move(hosts));
}

}  // namespace tutti
