// SPDX-License-Identifier: Apache-2.0
// Tables of AMD's tools: rocm-smi --showtopo names GPUs by number, amd-smi topology by address.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/pasted_lines.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

enum class AmdTable { none, link_type, hops, access, other };

// Recognises "=== Link Type between two GPUs ===" and "LINK TYPE TABLE:".
AmdTable amd_table(std::string_view line) {
    const std::string lower = in_lower_case(line);
    const auto has = [&](std::string_view part) { return lower.find(part) != nowhere; };
    if (!has("between two gpus") && !lower.ends_with(" table:")) return AmdTable::none;
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
    std::map<int, int> numa_nodes;  // by GPU
    std::set<AmdPair> xgmi, far, refused;
    std::set<AmdTable> tables;
};

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
            if (column != next_)
                read_cell({static_cast<int>(next_), static_cast<int>(column)}, words[column + 1],
                          line);
        ++next_;
    }

    void read_cell(AmdPair pair, std::string_view word, int line) {
        AmdHost& host = hosts_.back();
        const std::string cell = in_lower_case(word);
        if (table_ == AmdTable::link_type) {
            constexpr std::string_view known[] = {"xgmi", "pcie", "n/a", "unknown", "0"};
            if (std::ranges::find(known, cell) == std::end(known))
                source_.fail(line, in_quotes(word) + " is not a link type; use XGMI, PCIE or N/A");
            if (cell == "xgmi") host.xgmi.insert(pair);
        } else if (table_ == AmdTable::hops) {
            if (const auto hops = decimal_number(word); hops && *hops > 1) host.far.insert(pair);
        } else if (table_ == AmdTable::access && (cell == "disabled" || cell == "false")) {
            host.refused.insert(std::minmax(pair.first, pair.second));
        }
    }

    // Reads "GPU[0]   : (Topology) Numa Node: 0".
    void read_numa_node(std::string_view line) {
        constexpr std::string_view start = "GPU[", title = "Numa Node:";
        if (!line.starts_with(start) || line.find(title) == nowhere || hosts_.empty()) return;
        const auto gpu = decimal_number(line.substr(start.size(), line.find(']') - start.size()));
        const auto words = words_of(line.substr(line.find(title) + title.size()));
        const auto node = words.empty() ? std::nullopt : decimal_number(words[0]);
        if (gpu && node && *node >= 0 && *node < most_cpus && *gpu >= 0 && *gpu < most_cpus)
            hosts_.back().numa_nodes[static_cast<int>(*gpu)] = static_cast<int>(*node);
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
    return !pasted_parts(text, amd_title_in).empty();
}

Machine read_amd_matrix(const Source& source) {
    Machine machine;
    const auto parts = pasted_parts(source.text(), amd_title_in);
    for (const PastedPart& part : parts)
        for (const AmdHost& read : AmdParser(source, part).parse()) {
            if (read.gpus.empty()) continue;
            machine.hosts.push_back(host_of(read, source));
            std::string& name = machine.hosts.back().name;
            if (name.empty() && (parts.size() > 1 || is_host_prefix(part.prefix)))
                name = host_of_prefix(part.prefix);
        }
    if (machine.hosts.empty())
        source.fail(1,
                    "the tables of the GPUs are empty; use the complete output of rocm-smi "
                    "--showtopo or amd-smi topology");
    if (machine.hosts.size() > 1) name_hosts_apart(machine);
    return machine;
}

}  // namespace tutti
