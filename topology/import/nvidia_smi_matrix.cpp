// SPDX-License-Identifier: Apache-2.0
#include "topology/import/nvidia_smi_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "topology/import/formats.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_devices = 1024;

// Removes terminal codes (ESC [ ... letter), which underline the header.
std::string plain(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\x1b') {
            text.push_back(line[i]);
            continue;
        }
        if (i + 1 < line.size() && line[i + 1] == '[') ++i;
        while (i + 1 < line.size() && !std::isalpha(static_cast<unsigned char>(line[i + 1]))) ++i;
        ++i;  // the letter
    }
    return text;
}

bool is_gpu_name(std::string_view word) {
    return word.starts_with("GPU") && decimal_number(word.substr(3)).has_value();
}

bool is_affinity_column(std::string_view word) {
    return word == "CPU" || word == "NUMA" || word == "GPU";
}

struct Cell {
    Nearness nearness;
    int links = 0;
};

std::optional<Cell> parse_cell(std::string_view word) {
    static const std::map<std::string_view, Nearness> words{
        {"X", Nearness::self},  {"PIX", Nearness::pix}, {"PSB", Nearness::pix},
        {"PXB", Nearness::pxb}, {"PHB", Nearness::phb}, {"NODE", Nearness::node},
        {"SYS", Nearness::sys}, {"SOC", Nearness::sys}};  // PSB and SOC: older drivers
    if (const auto found = words.find(word); found != words.end()) return Cell{found->second};
    if (!word.starts_with("NV")) return std::nullopt;
    const auto links = decimal_number(word.substr(2));
    if (!links || *links < 1 || *links > 1024) return std::nullopt;
    return Cell{Nearness::unknown, static_cast<int>(*links)};
}

// Recognises "GPU0 GPU1 mlx5_0 CPU Affinity NUMA Affinity GPU NUMA ID": a header has no cells.
bool is_header(const std::vector<std::string_view>& words) {
    return !words.empty() && is_gpu_name(words[0]) &&
           std::ranges::none_of(words, [](auto word) { return parse_cell(word).has_value(); });
}

class MatrixParser {
public:
    explicit MatrixParser(const Source& source) : source_(source) {
        for (const std::string_view line : split(source.text(), '\n'))
            lines_.push_back(plain(line));
    }

    SmiMatrix parse() {
        std::size_t line = 0;
        while (line < lines_.size() && !is_header(words_of(lines_[line]))) ++line;
        read_header(line);
        for (std::size_t row = 0; row < matrix_.devices.size(); ++row) {
            ++line;
            while (line < lines_.size() && words_of(lines_[line]).empty()) ++line;
            read_row(row, line);
        }
        check_symmetry();
        for (++line; line < lines_.size(); ++line) read_nic_legend(words_of(lines_[line]));
        for (const std::string& text : lines_) read_model(text);
        return std::move(matrix_);
    }

private:
    static int number(std::size_t line) { return static_cast<int>(line) + 1; }

    void read_header(std::size_t line) {
        if (line == lines_.size())
            source_.fail(1, "the line with the names of the GPUs is missing");
        for (const std::string_view word : words_of(lines_[line])) {
            if (is_affinity_column(word)) break;
            if (!names_.insert({std::string(word), matrix_.devices.size()}).second)
                source_.fail(number(line), in_quotes(word) + " appears twice");
            matrix_.devices.push_back({.name = std::string(word), .is_gpu = is_gpu_name(word)});
        }
        if (matrix_.devices.size() > most_devices)
            source_.fail(number(line), fmt::format("more than {} devices", most_devices));
        matrix_.nearness.reserve(matrix_.devices.size() * matrix_.devices.size());
    }

    void read_row(std::size_t row, std::size_t line) {
        SmiMatrix::Device& device = matrix_.devices[row];
        const auto count = matrix_.devices.size();
        if (line >= lines_.size())
            source_.fail(number(lines_.size() - 1),
                         fmt::format("the row of {} is missing; use the complete output",
                                     in_quotes(device.name)));
        const auto words = words_of(lines_[line]);
        if (words[0] != device.name)
            source_.fail(number(line), fmt::format("{} instead of the row of {}; use the complete "
                                                   "output of nvidia-smi topo -m",
                                                   in_quotes(words[0]), in_quotes(device.name)));
        if (words.size() < count + 1)
            source_.fail(number(line),
                         fmt::format("{} cells, but the header has {} devices; use the complete "
                                     "output of nvidia-smi topo -m",
                                     words.size() - 1, count));
        device.line = number(line);
        for (std::size_t column = 0; column < count; ++column) {
            const auto cell = parse_cell(words[column + 1]);
            if (!cell || (cell->nearness == Nearness::self) != (row == column))
                source_.fail(
                    number(line),
                    fmt::format("{} in the column of {} is not X, NV#, PIX, PXB, PHB, NODE "
                                "or SYS",
                                in_quotes(words[column + 1]),
                                in_quotes(matrix_.devices[column].name)));
            matrix_.nearness.push_back(cell->nearness);
            matrix_.nvlinks.push_back(cell->links);
        }
        read_affinities(device, std::vector(words.begin() + static_cast<std::ptrdiff_t>(count) + 1,
                                            words.end()));
    }

    // Reads CPUs and NUMA node; the columns on the right may be missing.
    void read_affinities(SmiMatrix::Device& device, const std::vector<std::string_view>& words) {
        const auto starts_with_digit = [](std::string_view word) {
            return word.front() >= '0' && word.front() <= '9';
        };
        if (!words.empty() && starts_with_digit(words[0]))
            device.cpus = cpus_of_list(words[0], source_, device.line);
        if (words.size() > 1 && starts_with_digit(words[1]))  // "0-1" if several are equally near
            if (const auto nodes = cpus_of_list(words[1], source_, device.line); nodes.size() == 1)
                device.numa_node = nodes.front();
    }

    void check_symmetry() const {
        for (std::size_t a = 0; a < matrix_.devices.size(); ++a)
            for (std::size_t b = 0; b < a; ++b)
                if (matrix_.near(a, b) != matrix_.near(b, a) ||
                    matrix_.links(a, b) != matrix_.links(b, a))
                    source_.fail(
                        matrix_.devices[a].line,
                        fmt::format("{} to {} differs from {} to {} in line {}",
                                    in_quotes(matrix_.devices[a].name),
                                    in_quotes(matrix_.devices[b].name),
                                    in_quotes(matrix_.devices[b].name),
                                    in_quotes(matrix_.devices[a].name), matrix_.devices[b].line));
    }

    // Reads "NIC0: mlx5_0".
    void read_nic_legend(const std::vector<std::string_view>& words) {
        if (words.size() != 2 || !words[0].starts_with("NIC") || !words[0].ends_with(':')) return;
        const auto found = names_.find(std::string(words[0].substr(0, words[0].size() - 1)));
        if (found != names_.end()) matrix_.devices[found->second].name = std::string(words[1]);
    }

    SmiMatrix::Device* gpu_numbered(std::string_view number) {
        const auto found = names_.find("GPU" + std::string(number));
        if (found == names_.end() || !decimal_number(number)) return nullptr;
        return &matrix_.devices[found->second];
    }

    // Reads "GPU 0: NVIDIA B200 (UUID: GPU-...)" of nvidia-smi -L, "GPU 0,1: NVIDIA B200" of
    // reports, and "|   0  NVIDIA B200          On  |   00000000:1B:00.0 Off |" of nvidia-smi.
    void read_model(std::string_view line) {
        constexpr std::string_view of_list = "GPU ", uuid = " (UUID";
        const auto words = words_of(line);
        if (words.size() < 3) return;
        const std::size_t colon = line.find(':');
        const std::size_t start = line.find(of_list) + of_list.size();
        if (words[0] == "GPU" && colon != std::string_view::npos && start < colon) {
            const std::string_view name = line.substr(colon + 1, line.find(uuid) - colon - 1);
            const std::string_view list = line.substr(start, colon - start);
            if (list.find_first_not_of("0123456789,") == std::string_view::npos)
                for (const std::string_view number : split(list, ','))
                    if (SmiMatrix::Device* gpu = gpu_numbered(number); gpu && gpu->model.empty())
                        gpu->model = joined(words_of(name));
        }
        const auto cells = split(line, '|');
        if (cells.size() < 4) return;
        auto name = words_of(cells[1]);
        const auto place = words_of(cells[2]);
        if (name.size() < 3 || place.empty()) return;
        std::string_view bus = place[0];
        if (bus.starts_with("0000") && bus.find(':') == 8)
            bus.remove_prefix(4);  // half of the domain
        const auto address = pci_address(bus);
        SmiMatrix::Device* gpu = gpu_numbered(name[0]);
        if (!address || !gpu) return;
        gpu->pci_address = *address;
        name.erase(name.begin());
        name.pop_back();  // the persistence mode
        if (gpu->model.empty()) gpu->model = joined(name);
    }

    static std::string joined(const std::vector<std::string_view>& words) {
        std::string text;
        for (const std::string_view word : words)
            text += (text.empty() ? "" : " ") + std::string(word);
        return text;
    }

    const Source& source_;
    std::vector<std::string> lines_;
    std::map<std::string, std::size_t> names_;
    SmiMatrix matrix_;
};

}  // namespace

bool looks_like_nvidia_smi(std::string_view text) {
    for (const std::string_view line : split(text, '\n'))
        if (is_header(words_of(plain(line)))) return true;
    return false;
}

SmiMatrix parse_smi_matrix(const Source& source) { return MatrixParser(source).parse(); }

}  // namespace tutti
