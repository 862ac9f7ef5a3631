// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "topology/import/nvidia_smi_parts.hpp"

namespace tutti {
namespace {

// nvidia-smi cuts long lists, also inside of a number: "0-7,16-23,32-3".
void read_cpus(std::string_view list, SmiDevice& device, const Source& source) {
    constexpr std::ptrdiff_t few = 5;
    const auto parts = split(list, ',');
    const std::string_view last = parts.back();
    const std::size_t dash = last.find('-');
    const bool has_only_numbers = last.find_first_not_of("0123456789-") == nowhere;
    if (parts.size() > 1 && has_only_numbers) {
        const std::string_view rest = list.substr(0, list.size() - last.size() - 1);
        device.cpus = cpus_of_list(rest, source, device.line);
        const auto first = decimal_number(last.substr(0, dash));
        const auto end = dash == nowhere ? first : decimal_number(last.substr(dash + 1));
        device.lacks_cpus = !first || !end || *first <= device.cpus.back() || *end < *first;
        if (device.lacks_cpus) return;
    }
    device.cpus = cpus_of_list(list, source, device.line);
    device.lacks_cpus = std::ssize(parts) >= few && list.find('-') == nowhere;
}

void check_symmetry(const SmiMatrix& matrix, const Source& source) {
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (matrix.cell(a, b) != matrix.cell(b, a)) {
                const std::string one = in_quotes(matrix.devices[a].name),
                                  other = in_quotes(matrix.devices[b].name);
                source.fail(matrix.devices[a].line,
                            fmt::format("{} to {} differs from {} to {} in line {}", one, other,
                                        other, one, matrix.devices[b].line));
            }
}

SmiMatrix smi_matrix_of(const SmiTable& table, const Source& source) {
    SmiMatrix matrix{.has_distances = !table.is_p2p};
    for (const SmiTable::Row& row : table.rows) {
        SmiDevice device{.name = row.name, .is_gpu = is_smi_gpu(row.name), .line = row.line};
        if (!row.cpus.empty()) read_cpus(row.cpus, device, source);
        if (const auto node = decimal_number(row.numa_node);  // "0-1" if several are equally near
            node && *node < most_cpus)
            device.numa_node = static_cast<int>(*node);
        const int a = static_cast<int>(matrix.devices.size());
        for (int b = a + 1; b < std::ssize(row.cells); ++b)
            if (row.cells[static_cast<std::size_t>(b)].is_refused)
                matrix.no_peer_access.push_back({a, b});
        matrix.devices.push_back(std::move(device));
        matrix.cells.insert(matrix.cells.end(), row.cells.begin(), row.cells.end());
    }
    if (!table.is_p2p) check_symmetry(matrix, source);
    return matrix;
}

// Whether a -p2p matrix has the GPUs of this one.
bool has_gpus_of(const SmiMatrix& matrix, const SmiMatrix& p2p) {
    return std::ranges::equal(p2p.devices, matrix.devices | std::views::filter(&SmiDevice::is_gpu),
                              {}, &SmiDevice::name, &SmiDevice::name);
}

// Reads models and addresses of GPUs and names of NICs from the lines around a matrix.
class Legend {
public:
    explicit Legend(SmiMatrix& matrix) : matrix_(matrix) {
        for (const SmiDevice& device : matrix.devices) labels_.push_back(device.name);
    }

    void read(std::string_view line) {
        const auto words = words_of(line);
        read_nic(words);
        if (words.size() > 2 && words[0] == "GPU") read_listed_model(line);
        read_status(split(line, '|'));
    }

private:
    SmiDevice* named(std::string_view name) {
        const auto found = std::ranges::find(labels_, name);
        return found == labels_.end()
                   ? nullptr
                   : &matrix_.devices[static_cast<std::size_t>(found - labels_.begin())];
    }

    SmiDevice* gpu_numbered(std::string_view number) { return named("GPU" + std::string(number)); }

    // Reads "NIC0: mlx5_0".
    void read_nic(const std::vector<std::string_view>& words) {
        if (words.size() != 2 || !words[0].starts_with("NIC") || !words[0].ends_with(':')) return;
        if (SmiDevice* nic = named(words[0].substr(0, words[0].size() - 1)))
            nic->name = std::string(words[1]);
    }

    // Reads "GPU 0: NVIDIA B200 (UUID: GPU-...)" of nvidia-smi -L, and "GPU 0,1: NVIDIA B200".
    void read_listed_model(std::string_view line) {
        constexpr std::string_view title = "GPU ", uuid = " (UUID";
        const std::size_t start = line.find(title) + title.size(), colon = line.find(':');
        if (colon == nowhere || start >= colon) return;
        const std::string_view name = line.substr(colon + 1, line.find(uuid) - colon - 1);
        const std::string_view list = line.substr(start, colon - start);
        if (list.find_first_not_of("0123456789,") != nowhere) return;
        for (const std::string_view number : split(list, ','))
            if (SmiDevice* gpu = gpu_numbered(number); gpu && gpu->model.empty())
                gpu->model = fmt::format("{}", fmt::join(words_of(name), " "));
    }

    // Reads "|   0  NVIDIA B200          On  |   00000000:1B:00.0 Off |" of nvidia-smi.
    void read_status(const std::vector<std::string_view>& cells) {
        if (cells.size() < 4) return;
        const auto name = words_of(cells[1]);  // number, model, persistence mode
        const auto place = words_of(cells[2]);
        if (name.size() < 3 || place.empty()) return;
        std::string_view bus = place[0];
        if (bus.starts_with("0000") && bus.find(':') == 8)
            bus.remove_prefix(4);  // half of the domain
        const auto address = pci_address(bus);
        SmiDevice* gpu = gpu_numbered(name[0]);
        if (!address || !gpu) return;
        gpu->pci_address = *address;
        if (gpu->model.empty())
            gpu->model = fmt::format("{}", fmt::join(name.begin() + 1, name.end() - 1, " "));
    }

    SmiMatrix& matrix_;
    std::vector<std::string> labels_;  // by device, whose name changes
};

// All matrices of one part of the text: of one host, or of several one after another.
class PartReader {
public:
    PartReader(const Source& source, const PastedPart& part) : lines_(part.lines) {
        for (std::size_t next = 0; next < lines_.size(); ++next)
            if (smi_header_in(lines_[next].text) != nowhere) {
                const SmiTable table = read_smi_table(source, lines_, next);
                found_.push_back({smi_matrix_of(table, source), table.begin, table.end});
                next = table.end - 1;
            }
    }

    std::vector<SmiMatrix> read() {
        for (std::size_t i = 0; i < found_.size(); ++i) read_host(i);
        join_p2p();
        std::erase_if(found_, [](const Found& each) { return each.matrix.devices.empty(); });
        for (std::size_t i = 0; i < found_.size(); ++i) read_legend(i);
        std::vector<SmiMatrix> matrices;
        for (Found& each : found_) matrices.push_back(std::move(each.matrix));
        return matrices;
    }

private:
    struct Found {
        SmiMatrix matrix;
        std::size_t begin, end;  // positions in lines_
        std::size_t title = 0;   // where the host is named, or the first line after its predecessor
    };

    // Names the host by a line before the table, or else takes the host of the table before, unless
    // both are topologies and so of two hosts.
    void read_host(std::size_t position) {
        Found& found = found_[position];
        found.title = position == 0 ? 0 : found_[position - 1].end;
        for (std::size_t line = found.begin; line > found.title; --line)
            if (std::string host = host_in_title(lines_[line - 1].text); !host.empty()) {
                found.matrix.host = std::move(host);
                found.title = line - 1;
                return;
            }
        if (position == 0) return;
        const std::string& host = found_[position - 1].matrix.host;
        const bool is_known = std::ranges::any_of(found_, [&](const Found& other) {
            return other.matrix.has_distances && other.matrix.host == host;
        });
        if (!found.matrix.has_distances || !is_known) found.matrix.host = host;
    }

    // Whether the command before a -p2p matrix asked for reading or writing, not for NVLinks or
    // atomic operations.
    bool is_about_access(const Found& p2p) const {
        for (std::size_t line = p2p.begin; line > 0; --line) {
            const auto words = words_of(lines_[line - 1].text);
            const auto option = std::ranges::find(words, "-p2p");
            if (option == words.end()) continue;
            return option + 1 == words.end() || option[1] == "r" || option[1] == "w";
        }
        return true;
    }

    // Joins each -p2p matrix with the topology of the same host, before or after it; else with the
    // first such matrix of the host.
    void join_p2p() {
        for (std::size_t i = 0; i < found_.size(); ++i) {
            SmiMatrix& p2p = found_[i].matrix;
            if (p2p.has_distances) continue;
            if (!is_about_access(found_[i])) p2p.no_peer_access.clear();
            SmiMatrix* home = nullptr;
            for (std::size_t j = 0; j < found_.size(); ++j) {
                SmiMatrix& other = found_[j].matrix;
                const bool is_earlier = j < i || (other.has_distances && !home);
                if (j == i || !is_earlier || other.host != p2p.host || !has_gpus_of(other, p2p))
                    continue;
                if (!home || !home->has_distances || other.has_distances) home = &other;
            }
            if (!home) continue;
            for (const NoPeerAccess& pair : p2p.no_peer_access)
                if (std::ranges::find(home->no_peer_access, pair) == home->no_peer_access.end())
                    home->no_peer_access.push_back(pair);
            p2p = {.has_distances = false};
        }
    }

    void read_legend(std::size_t position) {
        const bool is_last = position + 1 == found_.size();
        const std::size_t end = is_last ? lines_.size() : found_[position + 1].title;
        Legend legend(found_[position].matrix);
        for (std::size_t line = found_.size() == 1 ? 0 : found_[position].title; line < end; ++line)
            legend.read(lines_[line].text);
    }

    const std::vector<PastedLine>& lines_;
    std::vector<Found> found_;
};

}  // namespace

std::vector<SmiMatrix> parse_smi_matrices(const Source& source) {
    std::vector<SmiMatrix> matrices;
    for (const PastedPart& part : pasted_parts(source.text(), smi_header_in))
        for (SmiMatrix& matrix : PartReader(source, part).read()) {
            if (matrix.host.empty()) matrix.host = part.host;
            matrices.push_back(std::move(matrix));
        }
    return matrices;
}

}  // namespace tutti
