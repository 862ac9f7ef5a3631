// SPDX-License-Identifier: Apache-2.0
#include "topology/import/nvidia_smi_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>

#include "topology/import/formats.hpp"
#include "topology/import/pasted_lines.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_devices = 1024, tab_width = 8;

bool begins_with_gpu(std::string_view word) {
    return word.starts_with("GPU") && word.size() > 3 && is_digit(word[3]);
}

bool is_device_name(std::string_view word) {
    return !word.empty() && is_letter(word.front()) && std::ranges::any_of(word, is_digit);
}

struct Cell {
    Nearness nearness = Nearness::unknown;
    int links = 0;
    bool is_p2p = false;      // a cell of nvidia-smi topo -p2p
    bool is_refused = false;  // in such a matrix
};

std::optional<Cell> parse_cell(std::string_view word) {
    constexpr Cell refused{.is_p2p = true, .is_refused = true}, allowed{.is_p2p = true};
    static const std::map<std::string_view, Cell> words{
        {"X", {Nearness::self}},  {"PIX", {Nearness::pix}}, {"PSB", {Nearness::pix}},
        {"PXB", {Nearness::pxb}}, {"PHB", {Nearness::phb}}, {"NODE", {Nearness::node}},
        {"SYS", {Nearness::sys}}, {"SOC", {Nearness::sys}},  // PSB and SOC: older drivers
        {"OK", allowed},          {"U", allowed},            // unknown
        {"CNS", refused},         {"GNS", refused},         {"TNS", refused},
        {"NS", refused},          {"DR", refused}};
    if (const auto found = words.find(word); found != words.end()) return found->second;
    if (!word.starts_with("NV")) return std::nullopt;
    const auto links = decimal_number(word.substr(2));
    if (!links || *links < 1 || *links > 1024) return std::nullopt;
    return Cell{.links = static_cast<int>(*links)};
}

// A piece of a line and its position from the row's name on.
struct Piece {
    std::size_t start = 0;
    std::string text;
    std::size_t end() const { return start + text.size(); }
};

// Splits a word in which the terminal glued cells together ("SYSSYS", "NODE0-27,112-139").
std::vector<Piece> unglued(const Piece& word) {
    constexpr std::string_view names[] = {"X", "PIX", "PSB", "PXB", "PHB", "NODE", "SYS", "SOC"};
    std::vector<Piece> pieces;
    std::string_view rest = word.text;
    while (!rest.empty() && !parse_cell(rest)) {
        std::size_t length = 0;
        for (const std::string_view name : names)
            if (rest.starts_with(name)) length = name.size();
        if (rest.starts_with("NV")) {  // at most 18 links so far
            const std::size_t end = std::min(rest.find_first_not_of("0123456789", 2), rest.size());
            length = end > 2 ? std::min<std::size_t>(end, 4) : 0;
        }
        if (length == 0) break;
        pieces.push_back({word.end() - rest.size(), std::string(rest.substr(0, length))});
        rest.remove_prefix(length);
    }
    if (!rest.empty()) pieces.push_back({word.end() - rest.size(), std::string(rest)});
    return pieces;
}

std::string with_blanks_for_tabs(std::string_view text, std::size_t start) {
    std::string expanded;
    for (const char c : text)
        if (c == '\t')
            expanded.append(tab_width - (start + expanded.size()) % tab_width, ' ');
        else
            expanded.push_back(c);
    return expanded;
}

std::vector<Piece> pieces_of(std::string_view text, std::size_t start) {
    std::vector<Piece> pieces;
    for (const std::string_view word : words_of(text))
        pieces.push_back(
            {start + static_cast<std::size_t>(word.data() - text.data()), std::string(word)});
    return pieces;
}

std::string without_blanks(std::string_view text) {
    std::string remaining;
    for (const std::string_view word : words_of(text)) remaining += word;
    return remaining;
}

// The columns right of the devices, in the order of nvidia-smi.
struct Title {
    std::string_view text, without_blanks;
};
constexpr std::array titles{Title{"CPU Affinity", "CPUAffinity"},
                            Title{"NUMA Affinity", "NUMAAffinity"},
                            Title{"GPU NUMA ID", "GPUNUMAID"}};

bool is_part_of_title(std::string_view word) {
    return word.find("Affinity") != nowhere || std::ranges::any_of(titles, [&](Title title) {
               return title.without_blanks.find(word) != nowhere;
           });
}

bool has_header_words_only(std::string_view text) {
    const auto words = words_of(text);
    return !words.empty() && std::ranges::all_of(words, [](std::string_view word) {
        return !parse_cell(word) && word.find_first_of(":|()") == nowhere &&
               (is_device_name(word) || is_part_of_title(word));
    });
}

// Returns the position of "GPU0 GPU1 mlx5_0 CPU Affinity NUMA Affinity GPU NUMA ID": a header has
// no cells. The first GPU alone is none.
std::size_t header_in(std::string_view line) {
    const auto words = pieces_of(line, 0);
    const auto first =
        std::ranges::find_if(words, [](const Piece& word) { return begins_with_gpu(word.text); });
    if (first == words.end() || words.end() - first < 2) return nowhere;
    return has_header_words_only(line.substr(first->start)) ? first->start : nowhere;
}

struct Header {
    std::string text;
    std::string names;                      // names of the devices, without blanks
    std::vector<std::size_t> titles;        // positions in `titles` of the columns that it has
    std::vector<std::size_t> title_starts;  // empty if the header is wrapped

    explicit Header(std::string header) : text(std::move(header)) {
        names = without_blanks(text);
        std::size_t end = names.size();
        const std::string expanded = with_blanks_for_tabs(text, 0);
        for (std::size_t i = 0; i < tutti::titles.size(); ++i) {
            const std::size_t at = names.find(tutti::titles[i].without_blanks);
            if (at == nowhere) continue;
            end = std::min(end, at);
            titles.push_back(i);
            title_starts.push_back(expanded.find(tutti::titles[i].text));
        }
        names.erase(end);
    }

    // Returns the device whose name begins at this position of `names`.
    std::string name_at(std::size_t position) const {
        for (const std::string_view word : words_of(text)) {
            if (position < word.size()) return std::string(word.substr(position));
            position -= word.size();
        }
        return "";
    }
};

struct Row {
    std::string name;
    std::string rest;  // text after the name
    std::size_t indent = 0;
    int line = 0;
};

// One matrix in the text; `begin` and `end` are positions in the lines of its part.
struct Table {
    SmiMatrix matrix;
    std::size_t begin = 0, end = 0;
    bool is_p2p = false;
};

// Whether the text continues a row that the terminal wrapped.
bool continues_row(std::string_view text) {
    const auto words = words_of(text);
    if (begins_with_gpu(words.front()) || words.front().starts_with("NIC")) return false;
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'A' && c <= 'Z') || is_digit(c) || c == ',' || c == '-' || c == '/' ||
               c == ' ' || c == '\t';
    });
}

class TableParser {
public:
    TableParser(const Source& source, const std::vector<PastedLine>& lines, std::size_t begin)
        : source_(source), lines_(lines), next_(begin + 1), header_(read_header(begin)) {
        table_.begin = begin;
    }

    Table parse() {
        read_rows();
        table_.end = next_;
        for (std::size_t row = 0; row < rows_.size(); ++row) read_row(row);
        check_symmetry();
        return std::move(table_);
    }

private:
    Header read_header(std::size_t begin) {
        std::string text = lines_[begin].text;
        for (; next_ < lines_.size() && has_header_words_only(lines_[next_].text); ++next_)
            text += lines_[next_].text;
        return Header(std::move(text));
    }

    void read_rows() {
        std::size_t done = 0;  // position in the header's names
        bool is_wrapped = false;
        for (; next_ < lines_.size() && header_in(lines_[next_].text) == nowhere; ++next_) {
            const PastedLine& line = lines_[next_];
            const auto words = pieces_of(line.text, 0);
            if (words.empty()) {
                is_wrapped = false;
                continue;
            }
            const std::string& name = words.front().text;
            if (is_device_name(name) && !parse_cell(name) &&
                std::string_view(header_.names).substr(done).starts_with(name)) {
                done += name.size();
                rows_.push_back({.name = name,
                                 .rest = line.text.substr(words.front().end()),
                                 .indent = words.front().start,
                                 .line = line.number});
                is_wrapped = true;
            } else if (is_wrapped && continues_row(line.text)) {
                rows_.back().rest += line.text;
            } else {
                break;
            }
            if (rows_.size() > most_devices)
                source_.fail(line.number, fmt::format("more than {} devices", most_devices));
        }
        if (done < header_.names.size()) complain_about_missing_row(header_.name_at(done));
    }

    [[noreturn]] void complain_about_missing_row(const std::string& name) const {
        constexpr std::string_view cure = "use the complete output of nvidia-smi topo -m";
        if (next_ >= lines_.size())
            source_.fail(lines_.back().number,
                         fmt::format("the row of {} is missing; {}", in_quotes(name), cure));
        source_.fail(
            lines_[next_].number,
            fmt::format("{} instead of the row of {}; {}",
                        in_quotes(words_of(lines_[next_].text).front()), in_quotes(name), cure));
    }

    void read_row(std::size_t row) {
        const Row& text = rows_[row];
        SmiMatrix& matrix = table_.matrix;
        if (!names_.insert(text.name).second)
            source_.fail(text.line, in_quotes(text.name) + " appears twice");
        matrix.devices.push_back(
            {.name = text.name, .is_gpu = begins_with_gpu(text.name), .line = text.line});
        if (!read_cells_between_tabs(row)) read_cells_between_blanks(row);
    }

    bool read_cells_between_tabs(std::size_t row) {
        const std::size_t count = rows_.size();
        auto fields = split(rows_[row].rest, '\t');  // the first is before the first tab
        if (fields.size() < count + 1 || !words_of(fields[0]).empty()) return false;
        std::vector<std::string> words;
        for (const std::string_view field : fields) words.push_back(without_blanks(field));
        for (std::size_t column = 1; column <= count; ++column)
            if (!parse_cell(words[column])) return false;
        for (std::size_t column = 0; column < count; ++column)
            add_cell(row, column, words[column + 1]);
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count) + 1);
        read_affinities(words);
        return true;
    }

    void read_cells_between_blanks(std::size_t row) {
        const std::size_t count = rows_.size(), start = rows_[row].name.size();
        const std::string rest = with_blanks_for_tabs(rows_[row].rest, start);
        std::vector<Piece> pieces;
        for (const Piece& word : pieces_of(rest, start)) {
            if (pieces.size() >= count)
                pieces.push_back(word);
            else
                for (Piece& piece : unglued(word)) pieces.push_back(std::move(piece));
        }
        if (pieces.size() < count)
            source_.fail(rows_[row].line,
                         fmt::format("{} cells, but the header has {} devices; use the complete "
                                     "output of nvidia-smi topo -m",
                                     pieces.size(), count));
        for (std::size_t column = 0; column < count; ++column)
            add_cell(row, column, pieces[column].text);
        const std::size_t end = pieces[count - 1].end();
        pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(count));
        read_affinities(columns_of(pieces, end, rows_[row].indent));
    }

    void add_cell(std::size_t row, std::size_t column, const std::string& word) {
        const auto cell = parse_cell(word);
        if (!cell || (cell->nearness == Nearness::self) != (row == column))
            source_.fail(rows_[row].line,
                         fmt::format("{} in the column of {} is not X, NV#, PIX, PXB, PHB, NODE "
                                     "or SYS",
                                     in_quotes(word), in_quotes(rows_[column].name)));
        SmiMatrix& matrix = table_.matrix;
        matrix.nearness.push_back(cell->nearness);
        matrix.nvlinks.push_back(cell->links);
        table_.is_p2p = table_.is_p2p || cell->is_p2p;
        if (cell->is_refused && row < column)
            matrix.no_peer_access.push_back({static_cast<int>(row), static_cast<int>(column)});
    }

    // Returns the words by column, one for each title. Cells may be empty. They are under their
    // titles, or else nvidia-smi's tabs were replaced by blanks, and an empty cell is one tab wide.
    std::vector<std::string> columns_of(const std::vector<Piece>& pieces, std::size_t end,
                                        std::size_t indent) const {
        const auto starts = [&](std::size_t column) {
            const std::size_t start = header_.title_starts[column];
            return start == nowhere || start < indent ? nowhere : start - indent;
        };
        std::vector<std::string> words(header_.titles.size());
        bool is_aligned = true, has_tab_stops = true;
        for (std::size_t column = 0; column < words.size(); ++column)
            has_tab_stops =
                has_tab_stops && starts(column) != nowhere && starts(column) % tab_width == 0;
        for (const Piece& piece : pieces) {
            std::size_t column = 0;
            while (column < words.size() && starts(column) != piece.start &&
                   starts(column) + 1 != piece.start)
                ++column;
            if (column < words.size())
                words[column] = piece.text;
            else
                is_aligned = false;
        }
        if (is_aligned || pieces.size() == words.size()) {
            if (pieces.size() == words.size())
                for (std::size_t i = 0; i < words.size(); ++i) words[i] = pieces[i].text;
            return words;
        }
        words.clear();
        if (!has_tab_stops) return words;
        for (const Piece& piece : pieces) {
            const std::size_t tabs = piece.start / tab_width - end / tab_width;
            words.resize(words.size() + std::max<std::size_t>(tabs, 1));
            words.back() = piece.text;
            end = piece.end();
        }
        return words;
    }

    // Reads the last columns. Between the last two titles nvidia-smi writes two tabs.
    void read_affinities(std::vector<std::string> words) {
        if (std::ranges::count_if(words, [](const auto& word) { return !word.empty(); }) ==
            std::ssize(header_.titles))
            std::erase(words, "");
        SmiMatrix::Device& device = table_.matrix.devices.back();
        for (std::size_t column = 0; column < std::min(words.size(), header_.titles.size());
             ++column) {
            if (words[column].empty() || !is_digit(words[column].front())) continue;
            if (header_.titles[column] == 0) read_cpus(words[column], device);
            if (header_.titles[column] == 1)  // "0-1" if several are equally near
                if (const auto node = decimal_number(words[column]);
                    node && *node >= 0 && *node < most_cpus)
                    device.numa_node = static_cast<int>(*node);
        }
    }

    // nvidia-smi cuts long lists, also inside of a number: "0-7,16-23,32-3".
    void read_cpus(std::string_view list, SmiMatrix::Device& device) const {
        constexpr std::ptrdiff_t few = 5;
        const auto parts = split(list, ',');
        const std::string_view last = parts.back();
        const std::size_t dash = last.find('-');
        const bool has_only_numbers = last.find_first_not_of("0123456789-") == nowhere;
        if (parts.size() > 1 && has_only_numbers) {
            const std::string_view rest = list.substr(0, list.size() - last.size() - 1);
            device.cpus = cpus_of_list(rest, source_, device.line);
            const auto first = decimal_number(last.substr(0, dash));
            const auto end = dash == nowhere ? first : decimal_number(last.substr(dash + 1));
            device.lacks_cpus = !first || !end || *first <= device.cpus.back() || *end < *first;
            if (device.lacks_cpus) return;
        }
        device.cpus = cpus_of_list(list, source_, device.line);
        device.lacks_cpus = std::ssize(parts) >= few && list.find('-') == nowhere;
    }

    void check_symmetry() const {
        const SmiMatrix& matrix = table_.matrix;
        if (table_.is_p2p) return;
        for (std::size_t a = 0; a < matrix.devices.size(); ++a)
            for (std::size_t b = 0; b < a; ++b)
                if (matrix.near(a, b) != matrix.near(b, a) ||
                    matrix.links(a, b) != matrix.links(b, a))
                    source_.fail(
                        matrix.devices[a].line,
                        fmt::format("{} to {} differs from {} to {} in line {}",
                                    in_quotes(matrix.devices[a].name),
                                    in_quotes(matrix.devices[b].name),
                                    in_quotes(matrix.devices[b].name),
                                    in_quotes(matrix.devices[a].name), matrix.devices[b].line));
    }

    const Source& source_;
    const std::vector<PastedLine>& lines_;
    std::size_t next_;
    Header header_;
    std::vector<Row> rows_;
    std::set<std::string> names_;
    Table table_;
};

std::vector<std::string> labels_of(const SmiMatrix& matrix) {
    std::vector<std::string> labels;
    for (const SmiMatrix::Device& device : matrix.devices) labels.push_back(device.name);
    return labels;
}

// Whether a -p2p matrix has the GPUs of this one.
bool has_gpus_of(const SmiMatrix& matrix, const SmiMatrix& p2p) {
    const auto is_gpu = [](const SmiMatrix::Device& device) { return device.is_gpu; };
    return std::ranges::equal(labels_of(p2p), matrix.devices | std::views::filter(is_gpu), {}, {},
                              &SmiMatrix::Device::name);
}

// Reads models and addresses of GPUs and names of NICs from the lines around a matrix.
class Legend {
public:
    explicit Legend(SmiMatrix& matrix) : matrix_(matrix) {}

    void read(std::string_view line) {
        read_nic(words_of(line));
        read_model(line);
    }

private:
    SmiMatrix::Device* named(std::string_view name) {
        const auto found = std::ranges::find(labels_, name);
        return found == labels_.end()
                   ? nullptr
                   : &matrix_.devices[static_cast<std::size_t>(found - labels_.begin())];
    }

    // Reads "NIC0: mlx5_0".
    void read_nic(const std::vector<std::string_view>& words) {
        if (words.size() != 2 || !words[0].starts_with("NIC") || !words[0].ends_with(':')) return;
        if (SmiMatrix::Device* nic = named(words[0].substr(0, words[0].size() - 1)))
            nic->name = std::string(words[1]);
    }

    SmiMatrix::Device* gpu_numbered(std::string_view number) {
        return named("GPU" + std::string(number));
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

    SmiMatrix& matrix_;
    std::vector<std::string> labels_ = labels_of(matrix_);
};

// All matrices of one part of the text: of one host, or of several one after another.
class PartParser {
public:
    PartParser(const Source& source, const PastedPart& part) : lines_(part.lines) {
        for (std::size_t next = 0; next < lines_.size(); ++next)
            if (header_in(lines_[next].text) != nowhere) {
                tables_.push_back(TableParser(source, lines_, next).parse());
                next = tables_.back().end - 1;
            }
    }

    std::vector<SmiMatrix> parse() {
        std::vector<std::size_t> begins;
        for (std::size_t i = 0; i < tables_.size(); ++i) {
            const std::size_t gap = i == 0 ? 0 : tables_[i - 1].end;
            begins.push_back(title_before(tables_[i], gap));
            if (tables_[i].matrix.host.empty() && i > 0) inherit_host(i);
        }
        join_p2p();
        for (std::size_t i = 0; i < tables_.size(); ++i) read_legend(i, begins);
        std::vector<SmiMatrix> matrices;
        for (Table& table : tables_)
            if (!table.matrix.devices.empty()) matrices.push_back(std::move(table.matrix));
        return matrices;
    }

private:
    // Names the host by a line before the table. Returns where the table's text begins.
    std::size_t title_before(Table& table, std::size_t gap) const {
        for (std::size_t line = table.begin; line > gap; --line)
            if (const std::string host = host_in_title(lines_[line - 1].text); !host.empty()) {
                table.matrix.host = host;
                return line - 1;
            }
        return gap;
    }

    // Takes the host of the table before, unless both are topologies and so of two hosts.
    void inherit_host(std::size_t table) {
        const std::string& host = tables_[table - 1].matrix.host;
        const auto is_topology_of_host = [&](const Table& other) {
            return !other.is_p2p && other.matrix.host == host;
        };
        if (tables_[table].is_p2p || std::ranges::none_of(tables_, is_topology_of_host))
            tables_[table].matrix.host = host;
    }

    // Whether the command before a -p2p matrix asked for reading or writing, not for NVLinks or
    // atomic operations.
    bool is_about_access(const Table& table) const {
        for (std::size_t line = table.begin; line > 0; --line) {
            const auto words = words_of(lines_[line - 1].text);
            const auto option = std::ranges::find(words, "-p2p");
            if (option == words.end()) continue;
            return option + 1 == words.end() || option[1] == "r" || option[1] == "w";
        }
        return true;
    }

    // Joins each -p2p matrix with the topology of the same host, before or after it.
    void join_p2p() {
        for (std::size_t i = 0; i < tables_.size(); ++i) {
            if (!tables_[i].is_p2p) continue;
            SmiMatrix& p2p = tables_[i].matrix;
            p2p.has_distances = false;
            if (!is_about_access(tables_[i])) p2p.no_peer_access.clear();
            Table* home = nullptr;
            for (std::size_t j = 0; j < tables_.size(); ++j) {
                const SmiMatrix& other = tables_[j].matrix;
                const bool is_earlier = j < i || (!tables_[j].is_p2p && !home);
                if (j == i || !is_earlier || other.host != p2p.host || !has_gpus_of(other, p2p))
                    continue;
                if (!home || home->is_p2p || !tables_[j].is_p2p) home = &tables_[j];
            }
            if (!home) continue;
            for (const NoPeerAccess& pair : p2p.no_peer_access)
                if (std::ranges::find(home->matrix.no_peer_access, pair) ==
                    home->matrix.no_peer_access.end())
                    home->matrix.no_peer_access.push_back(pair);
            p2p = {};
        }
    }

    void read_legend(std::size_t table, const std::vector<std::size_t>& begins) {
        const auto is_topology = [](const Table& other) { return !other.matrix.devices.empty(); };
        if (!is_topology(tables_[table])) return;
        const bool is_only = std::ranges::count_if(tables_, is_topology) == 1;
        std::size_t end = lines_.size();
        for (std::size_t next = tables_.size(); next-- > table + 1;)
            if (is_topology(tables_[next])) end = begins[next];
        Legend legend(tables_[table].matrix);
        for (std::size_t line = is_only ? 0 : begins[table]; line < end; ++line)
            legend.read(lines_[line].text);
    }

    const std::vector<PastedLine>& lines_;
    std::vector<Table> tables_;
};

}  // namespace

bool looks_like_nvidia_smi(std::string_view text) { return !pasted_parts(text, header_in).empty(); }

std::vector<SmiMatrix> parse_smi_matrices(const Source& source) {
    std::vector<SmiMatrix> matrices;
    const auto parts = pasted_parts(source.text(), header_in);
    for (const PastedPart& part : parts)
        for (SmiMatrix& matrix : PartParser(source, part).parse()) {
            if (matrix.host.empty() && (parts.size() > 1 || is_host_prefix(part.prefix)))
                matrix.host = host_of_prefix(part.prefix);
            matrices.push_back(std::move(matrix));
        }
    return matrices;
}

}  // namespace tutti
