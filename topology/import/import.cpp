// SPDX-License-Identifier: Apache-2.0
#include "topology/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "base/encoding.hpp"
#include "base/error.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/pasted_lines.hpp"
#include "topology/import/xml.hpp"
#include "topology/machine/doubts.hpp"

namespace tutti {
namespace {

struct Format {
    std::string_view name;
    bool (*recognises)(std::string_view text);
    Machine (*read)(const Source& source);
};

constexpr Format formats[] = {
    {"hwloc XML (lstopo FILE.xml)",
     [](std::string_view text) { return root_name(text) == "topology"; }, read_hwloc_xml},
    {"NCCL XML (NCCL_TOPO_DUMP_FILE)",
     [](std::string_view text) { return root_name(text) == "system"; }, read_nccl_xml},
    {"rocm-smi --showtopo, amd-smi topology", looks_like_amd_matrix, read_amd_matrix},
    {"tutti topo --json", [](std::string_view text) { return text.starts_with('{'); },
     read_tutti_json},
    {"nvidia-smi topo -m", looks_like_nvidia_smi, read_nvidia_smi},
};

constexpr std::string_view blanks = " \t\r\n";

bool has_bytes_of_no_text(std::string_view text) {
    return text.find('\0') != std::string_view::npos;
}

// Names a matrix of accelerators that tutti does not support; empty if the text has none.
std::string foreign_matrix(std::string_view text) {
    for (const std::string_view word : words_of(text)) {
        const bool has_number = word.size() > 3 && is_digit(word[3]);
        if (has_number && word.starts_with("NPU")) return "Ascend NPUs (npu-smi info -t topo)";
        if (has_number && word.starts_with("MLU")) return "Cambricon MLUs (cnmon topo -m)";
    }
    for (std::size_t at = text.find("GPU "); at != nowhere; at = text.find("GPU ", at + 1))
        if (at + 6 < text.size() && is_digit(text[at + 4]) && text[at + 5] == '/')
            return "Intel GPUs (xpu-smi topology -m)";
    return "";
}

// Describes a text that no format recognises.
std::string what_it_is(std::string_view text) {
    if (text.empty()) return "the file is empty";
    if (has_bytes_of_no_text(text)) return "this is not a text file";
    const std::string_view root = text.starts_with('<') ? root_name(text) : "";
    if (root == "graphs") return "this is NCCL's result (NCCL_GRAPH_DUMP_FILE), not its topology";
    if (!root.empty())
        return fmt::format("the XML element {} is not a known description of a machine",
                           in_quotes(root));
    if (const std::string matrix = foreign_matrix(text); !matrix.empty())
        return "this is the matrix of " + matrix + ", which tutti does not read";
    return "this is not a known description of a machine";
}

}  // namespace

Machine machine_of(std::vector<Host> hosts) {
    Machine machine;
    for (Host& host : hosts)
        if (host.name.empty() || std::ranges::find(machine.hosts, host) == machine.hosts.end())
            machine.hosts.push_back(std::move(host));
    std::set<std::string> taken;
    for (std::size_t i = 0; i < machine.hosts.size() && machine.hosts.size() > 1; ++i) {
        std::string& name = machine.hosts[i].name;
        if (name.empty()) name = "host" + std::to_string(i);
        while (!taken.insert(name).second) name += "-" + std::to_string(i);
    }
    return machine;
}

Machine parse_machine(std::string_view bytes, std::string_view name) {
    const std::string text = in_utf8(bytes);
    const Source source(text, name);
    const std::size_t start = std::min(text.find_first_not_of(blanks), text.size());
    const std::string_view content = std::string_view(text).substr(start);
    if (!has_bytes_of_no_text(content))
        for (const Format& format : formats)
            if (format.recognises(content)) {
                Machine machine = format.read(source);
                for (Host& host : machine.hosts) note_impossible_speeds(host);
                return machine;
            }
    source.fail(content.empty() ? 1 : source.line_of(start),
                what_it_is(content) + "; use " + import_formats());
}

Machine read_machine(const std::filesystem::path& file) {
    constexpr std::uintmax_t largest = 64 << 20;  // a hundred times the largest known file
    std::error_code fault;
    const auto status = std::filesystem::status(file, fault);
    if (!std::filesystem::exists(status))
        throw Error(file.string() + ": no such file; use " + import_formats());
    if (std::filesystem::is_directory(status))
        throw Error(file.string() + ": this is a folder; use `tutti topo --root " + file.string() +
                    "` for copies of /proc and /sys, or a file: " + import_formats());
    std::ifstream stream(file, std::ios::binary);
    std::string text;
    for (char c; text.size() <= largest && stream.get(c);) text.push_back(c);
    if (stream.bad() || !(stream.eof() || stream)) throw Error(file.string() + ": cannot be read");
    if (text.size() > largest)
        throw Error(file.string() + ": too large for the description of a machine; use " +
                    import_formats());
    return parse_machine(text, file.string());
}

std::string import_formats() {
    std::string list;
    for (const Format& format : formats) {
        if (&format == std::end(formats) - 1)
            list += " or ";
        else if (!list.empty())
            list += ", ";
        list += format.name;
    }
    return list;
}

}  // namespace tutti
