// SPDX-License-Identifier: Apache-2.0
// Reads the columns of tables that terminals, logs and web pages have changed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/index.hpp"
#include "topology/import/nvidia_smi_parts.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_devices = 1024, tab_width = 8;

bool is_device_name(std::string_view word) {
    return !word.empty() && is_letter(word.front()) && std::ranges::any_of(word, is_digit);
}

std::optional<SmiCell> parse_cell(std::string_view word) {
    constexpr SmiCell refused{.is_p2p = true, .is_refused = true}, allowed{.is_p2p = true};
    static const std::map<std::string_view, SmiCell> words{
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
    return SmiCell{.links = static_cast<int>(*links)};
}

// A piece of a line and its position from the row's name on.
struct Piece {
    std::size_t start = 0;
    std::string text;
    std::size_t end() const { return start + text.size(); }
};

std::vector<Piece> pieces_of(std::string_view text, std::size_t start) {
    std::vector<Piece> pieces;
    for (const std::string_view word : words_of(text))
        pieces.push_back(
            {start + static_cast<std::size_t>(word.data() - text.data()), std::string(word)});
    return pieces;
}

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

std::string without_blanks(std::string_view text) {
    std::string remaining;
    for (const std::string_view word : words_of(text)) remaining += word;
    return remaining;
}

// The columns right of the devices, in the order of nvidia-smi.
enum Title : std::size_t { cpu_affinity, numa_affinity, gpu_numa_id };
constexpr std::array<std::string_view, 3> titles{"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};

bool is_part_of_title(std::string_view word) {
    return word.find("Affinity") != nowhere ||
           std::ranges::any_of(titles, [&](std::string_view title) {
               return without_blanks(title).find(word) != nowhere;
           });
}

bool has_header_words_only(std::string_view text) {
    const auto words = words_of(text);
    return !words.empty() && std::ranges::all_of(words, [](std::string_view word) {
        return !parse_cell(word) && word.find_first_of(":|()") == nowhere &&
               (is_device_name(word) || is_part_of_title(word));
    });
}

struct Header {
    std::string text;
    std::string names;                      // names of the devices, without blanks
    std::vector<std::size_t> titles;        // positions in `titles` of the columns that it has
    std::vector<std::size_t> title_starts;  // nowhere if the header is wrapped

    explicit Header(std::string header) : text(std::move(header)), names(without_blanks(text)) {
        std::size_t end = names.size();
        const std::string expanded = with_blanks_for_tabs(text, 0);
        for (std::size_t title = 0; title < tutti::titles.size(); ++title) {
            const std::size_t at = names.find(without_blanks(tutti::titles[title]));
            if (at == nowhere) continue;
            end = std::min(end, at);
            titles.push_back(title);
            title_starts.push_back(expanded.find(tutti::titles[title]));
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

// Whether the text continues a row that the terminal wrapped.
bool continues_row(std::string_view text) {
    const auto words = words_of(text);
    if (is_smi_gpu(words.front()) || words.front().starts_with("NIC")) return false;
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'A' && c <= 'Z') || is_digit(c) || c == ',' || c == '-' || c == '/' ||
               c == ' ' || c == '\t';
    });
}

class TableReader {
public:
    TableReader(const Source& source, const std::vector<PastedLine>& lines, std::size_t begin)
        : source_(source), lines_(lines), next_(begin + 1), header_(read_header(begin)) {
        table_.begin = begin;
    }

    SmiTable read() {
        read_rows();
        table_.end = next_;
        for (std::size_t row = 0; row < texts_.size(); ++row)
            if (!read_cells_between_tabs(row)) read_cells_between_blanks(row);
        return std::move(table_);
    }

private:
    struct RowText {
        std::string rest;  // after the name
        std::size_t indent = 0;
    };

    Header read_header(std::size_t begin) {
        std::string text = lines_[begin].text;
        for (; next_ < lines_.size() && has_header_words_only(lines_[next_].text); ++next_)
            text += lines_[next_].text;
        return Header(std::move(text));
    }

    void read_rows() {
        std::size_t done = 0;  // position in the header's names
        bool is_wrapped = false;
        for (; next_ < lines_.size() && smi_header_in(lines_[next_].text) == nowhere; ++next_) {
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
                if (std::ranges::find(table_.rows, name, &SmiTable::Row::name) != table_.rows.end())
                    source_.fail(line.number, in_quotes(name) + " appears twice");
                table_.rows.push_back({.name = name, .line = line.number});
                texts_.push_back({line.text.substr(words.front().end()), words.front().start});
                is_wrapped = true;
            } else if (is_wrapped && continues_row(line.text)) {
                texts_.back().rest += line.text;
            } else {
                break;
            }
            if (texts_.size() > most_devices)
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

    bool read_cells_between_tabs(std::size_t row) {
        const std::size_t count = texts_.size();
        auto fields = split(texts_[row].rest, '\t');  // the first is before the first tab
        if (fields.size() < count + 1 || !words_of(fields[0]).empty()) return false;
        std::vector<std::string> words;
        for (const std::string_view field : fields) words.push_back(without_blanks(field));
        for (std::size_t column = 1; column <= count; ++column)
            if (!parse_cell(words[column])) return false;
        for (std::size_t column = 0; column < count; ++column)
            add_cell(row, column, words[column + 1]);
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count) + 1);
        // Between the last two titles nvidia-smi writes two tabs.
        if (std::ranges::count(words, "") + std::ssize(header_.titles) == std::ssize(words))
            std::erase(words, "");
        add_affinities(row, words);
        return true;
    }

    void read_cells_between_blanks(std::size_t row) {
        const std::size_t count = texts_.size(), start = table_.rows[row].name.size();
        const std::string rest = with_blanks_for_tabs(texts_[row].rest, start);
        std::vector<Piece> pieces;
        for (const Piece& word : pieces_of(rest, start)) {
            if (pieces.size() >= count)
                pieces.push_back(word);
            else
                for (Piece& piece : unglued(word)) pieces.push_back(std::move(piece));
        }
        if (pieces.size() < count)
            source_.fail(table_.rows[row].line,
                         fmt::format("{} cells, but the header has {} devices; use the complete "
                                     "output of nvidia-smi topo -m",
                                     pieces.size(), count));
        for (std::size_t column = 0; column < count; ++column)
            add_cell(row, column, pieces[column].text);
        const std::size_t end = pieces[count - 1].end();
        pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(count));
        add_affinities(row, words_by_title(pieces, end, texts_[row].indent));
    }

    void add_cell(std::size_t row, std::size_t column, const std::string& word) {
        const auto cell = parse_cell(word);
        if (!cell || (cell->nearness == Nearness::self) != (row == column))
            source_.fail(table_.rows[row].line,
                         fmt::format("{} in the column of {} is not X, NV#, PIX, PXB, PHB, NODE "
                                     "or SYS",
                                     in_quotes(word), in_quotes(table_.rows[column].name)));
        table_.rows[row].cells.push_back(*cell);
        table_.is_p2p = table_.is_p2p || cell->is_p2p;
    }

    // Returns one word for each title. Cells may be empty: the words are under their titles, or
    // else blanks replaced nvidia-smi's tabs, and an empty cell is one tab wide. Words that fit
    // neither are left out.
    std::vector<std::string> words_by_title(const std::vector<Piece>& pieces, std::size_t end,
                                            std::size_t indent) const {
        std::vector<std::size_t> starts;  // without those in a wrapped header
        for (const std::size_t start : header_.title_starts)
            if (start != nowhere && start >= indent) starts.push_back(start - indent);
        std::vector<std::string> words(header_.titles.size());
        if (pieces.size() == words.size()) {
            std::ranges::transform(pieces, words.begin(), &Piece::text);
            return words;
        }
        if (starts.size() < words.size()) return {};
        const auto title_of = [&](const Piece& piece) {
            return std::ranges::find_if(starts,
                                        [&](std::size_t start) {
                                            return start == piece.start || start + 1 == piece.start;
                                        }) -
                   starts.begin();
        };
        if (std::ranges::all_of(
                pieces, [&](const Piece& piece) { return title_of(piece) < std::ssize(starts); })) {
            for (const Piece& piece : pieces) words[as_size(title_of(piece))] = piece.text;
            return words;
        }
        words.clear();
        if (std::ranges::any_of(starts, [](std::size_t start) { return start % tab_width != 0; }))
            return words;
        for (const Piece& piece : pieces) {
            const std::size_t tabs = piece.start / tab_width - end / tab_width;
            words.resize(words.size() + std::max<std::size_t>(tabs, 1));
            words.back() = piece.text;
            end = piece.end();
        }
        return words;
    }

    void add_affinities(std::size_t row, const std::vector<std::string>& words) {
        for (std::size_t i = 0; i < std::min(words.size(), header_.titles.size()); ++i) {
            if (words[i].empty() || !is_digit(words[i].front())) continue;
            if (header_.titles[i] == cpu_affinity) table_.rows[row].cpus = words[i];
            if (header_.titles[i] == numa_affinity) table_.rows[row].numa_node = words[i];
        }
    }

    const Source& source_;
    const std::vector<PastedLine>& lines_;
    std::size_t next_;
    Header header_;
    std::vector<RowText> texts_;  // for each row
    SmiTable table_;
};

}  // namespace

bool is_smi_gpu(std::string_view name) {
    return name.starts_with("GPU") && name.size() > 3 && is_digit(name[3]);
}

// A header has no cells. The first GPU alone is none.
std::size_t smi_header_in(std::string_view line) {
    const auto words = pieces_of(line, 0);
    const auto first = std::ranges::find_if(words, is_smi_gpu, &Piece::text);
    if (first == words.end() || words.end() - first < 2) return nowhere;
    return has_header_words_only(line.substr(first->start)) ? first->start : nowhere;
}

SmiTable read_smi_table(const Source& source, const std::vector<PastedLine>& lines,
                        std::size_t begin) {
    return TableReader(source, lines, begin).read();
}

}  // namespace tutti
