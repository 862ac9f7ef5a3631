// SPDX-License-Identifier: Apache-2.0
#include "topology/import/pasted_lines.hpp"

#include <algorithm>

#include "base/source.hpp"

namespace tutti {
namespace {

// Returns the length of the terminal code at the start of the text, 0 if there is none. Pastes and
// logs write the escape character as text or lose it: "[4m" remains.
std::size_t terminal_code(std::string_view text) {
    constexpr std::string_view escapes[] = {"\x1b",    "^[",  "\\x1b",        "\\033",
                                            "\\u001b", "\\e", "\xe2\x90\x9b", "\xef\xbf\xbd"};
    std::size_t start = 0;
    for (const std::string_view escape : escapes)
        if (start == 0 && text.starts_with(escape)) start = escape.size();
    if (start < text.size() && text[start] == '[') {
        const std::size_t end = text.find_first_not_of("0123456789;?", start + 1);
        if (end != nowhere && is_letter(text[end]) && (start > 0 || text[end] == 'm'))
            return end + 1;
    }
    return text.starts_with('\x1b') ? 1 : 0;
}

// Returns the length of a blank other than ' ' and tab at the start of the text, 0 if there is
// none: no-break spaces of web pages, also in Latin-1, and the wide blanks of typesetting.
std::size_t odd_blank(std::string_view text) {
    if (text.starts_with("\xc2\xa0")) return 2;
    if (text.starts_with("\xe2\x80\xaf") || text.starts_with("\xe3\x80\x80")) return 3;
    if (text.starts_with("\xe2\x80") && text.size() > 2 &&
        static_cast<unsigned char>(text[2]) <= 0x8aU)
        return 3;
    return text.starts_with('\xa0') || text.starts_with('\r') ? 1 : 0;
}

std::size_t invisible(std::string_view text) {
    return text.starts_with("\xe2\x80\x8b") || text.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

std::string plain(std::string_view line) {
    std::string text;
    while (!line.empty()) {
        std::size_t length = std::max(terminal_code(line), invisible(line));
        if (length == 0) {
            length = odd_blank(line);
            text.push_back(length > 0 ? ' ' : line.front());
            length = std::max<std::size_t>(length, 1);
        }
        line.remove_prefix(length);
    }
    text.erase(text.find_last_not_of(" \t") + 1);
    return text;
}

// Recognises "2025-07-14", "12:00:00.123" and seconds such as "[12.345678]".
bool is_time(std::string_view word) {
    std::string shape;  // each digit as '9'
    for (const char c : word) shape.push_back(is_digit(c) ? '9' : c);
    if (shape.starts_with('[')) shape.erase(0, 1);
    if (shape.starts_with("9999-99-99") || shape.starts_with("9999/99/99") ||
        shape.starts_with("99:99:99"))
        return true;
    while (shape.ends_with(']') || shape.ends_with(':')) shape.pop_back();
    return shape.find('.') != nowhere && real_number(shape).has_value();
}

struct WordAt {
    std::size_t start;
    std::string_view text;
};

WordAt word_at(std::string_view text, std::size_t from) {
    const std::size_t start = std::min(text.find_first_not_of(" \t", from), text.size());
    const std::size_t end = std::min(text.find_first_of(" \t", start), text.size());
    return {start, text.substr(start, end - start)};
}

// Returns the words before the heading that are no time stamps, separated by one blank.
std::string prefix_before(std::string_view text) {
    std::string prefix;
    for (const std::string_view word : words_of(text))
        if (!is_time(word)) prefix += (prefix.empty() ? "" : " ") + std::string(word);
    return prefix;
}

// Returns the position after the prefix and the time stamps in it; none if the line lacks it. One
// blank after them belongs to the prefix.
std::size_t after_prefix(std::string_view line, const std::string& prefix) {
    std::size_t at = 0;
    for (const std::string_view wanted : words_of(prefix)) {
        WordAt word = word_at(line, at);
        while (is_time(word.text)) word = word_at(line, word.start + word.text.size());
        if (!word.text.starts_with(wanted)) return nowhere;
        at = word.start + wanted.size();
    }
    for (WordAt word = word_at(line, at); is_time(word.text); word = word_at(line, at))
        at = word.start + word.text.size();
    return at > 0 && at < line.size() && line[at] == ' ' ? at + 1 : at;
}

bool is_host_name(std::string_view text) {
    return std::ranges::any_of(text, is_letter) && std::ranges::all_of(text, [](char c) {
               return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
           });
}

// Returns the host of "node1:", "node1: [0]" or Open MPI's "[job@1,0][node1:321]<stdout>:"; empty
// if the prefix has none.
std::string host_in_prefix(std::string_view prefix) {
    for (std::string_view word : words_of(prefix)) {
        if (const std::size_t pair = word.find("]["); pair != nowhere)
            word.remove_prefix(pair + 2);
        else if (!word.ends_with(':'))
            continue;
        word = word.substr(0, word.find(':'));
        const bool has_small_letter =
            std::ranges::any_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
        if (has_small_letter && is_host_name(word) && word != "stdout" && word != "stderr")
            return std::string(word);
    }
    return "";
}

// Returns "rank 0" for "[1,0]<stdout>:", "[prterun-n1-7@1,0]<stdout>:", "0:" and "[0]": the last
// number is the rank. Returns a prefix without a number itself.
std::string rank_in_prefix(std::string_view prefix) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t end = prefix.find_last_of(digits);
    if (end == nowhere) return std::string(prefix);
    const std::size_t before = prefix.find_last_not_of(digits, end);
    const std::size_t start = before == nowhere ? 0 : before + 1;
    return "rank " + std::string(prefix.substr(start, end + 1 - start));
}

// Recognises the line below the header of a Markdown table: "|---|:--:|".
bool is_markdown_rule(std::string_view line) {
    const std::size_t start = line.find('|');
    return start != nowhere && line.find('-', start) != nowhere &&
           line.find_first_not_of("|:- \t", start) == nowhere;
}

// Turns the rows of Markdown tables into lines with tabs, as nvidia-smi writes them.
void convert_markdown(std::vector<PastedLine>& lines) {
    for (std::size_t rule = 1; rule < lines.size(); ++rule) {
        const std::string_view text = lines[rule].text;
        if (!is_markdown_rule(text)) continue;
        const std::size_t frame = text.find('|');
        const bool is_framed = frame == 0 || text[frame - 1] != '-';  // "|---|", not "---|---"
        for (std::size_t row = rule - 1; row < lines.size(); ++row) {
            std::string& cells = lines[row].text;
            const std::size_t start = is_framed ? cells.find('|') : 0;
            if (cells.find('|', start) == nowhere) break;
            if (is_framed) cells[start] = ' ';
            if (row < rule)  // the corner above the names of the rows
                std::fill_n(cells.begin() + static_cast<std::ptrdiff_t>(start),
                            std::min(cells.find('|', start), cells.size()) - start, ' ');
            std::ranges::replace(cells, '|', '\t');
            std::ranges::replace_if(
                cells, [](char c) { return c == '*' || c == '`'; }, ' ');
            cells.erase(cells.find_last_not_of(" \t") + 1);
        }
        lines[rule].text = "|---|";
    }
    std::erase_if(lines, [](const PastedLine& line) { return is_markdown_rule(line.text); });
}

}  // namespace

std::vector<PastedPart> pasted_parts(std::string_view text,
                                     std::size_t (*heading)(std::string_view)) {
    std::vector<PastedLine> lines;
    std::vector<PastedPart> parts;
    for (const std::string_view line : split(text, '\n'))
        lines.push_back({static_cast<int>(lines.size()) + 1, plain(line)});
    convert_markdown(lines);
    for (const PastedLine& line : lines) {
        const std::size_t start = heading(line.text);
        if (start == nowhere) continue;
        const std::string prefix = prefix_before(std::string_view(line.text).substr(0, start));
        if (std::ranges::find(parts, prefix, &PastedPart::prefix) == parts.end())
            parts.push_back({.prefix = prefix, .host = host_in_prefix(prefix), .lines = {}});
    }
    for (PastedPart& part : parts)
        if (part.host.empty() && parts.size() > 1) part.host = rank_in_prefix(part.prefix);
    for (const PastedLine& line : lines) {
        PastedPart* best = nullptr;
        std::size_t best_start = 0;
        for (PastedPart& part : parts) {
            const std::size_t start = after_prefix(line.text, part.prefix);
            if (start == nowhere || (best && part.prefix.size() <= best->prefix.size())) continue;
            best = &part;
            best_start = start;
        }
        if (best) best->lines.push_back({line.number, line.text.substr(best_start)});
        // Lines without a prefix, such as models and commands, are shared if there is one part.
        else if (parts.size() == 1)
            parts.front().lines.push_back(line);
    }
    return parts;
}

std::string host_in_title(std::string_view line) {
    for (const std::string_view word : words_of(line))
        if (const std::size_t at = word.find('@'); at != nowhere) {
            const std::string_view host =
                word.substr(at + 1, word.find_first_of(":]", at) - at - 1);
            if (is_host_name(host)) return std::string(host);
        }
    auto words = words_of(line);
    if (words.size() > 1 && words[words.size() - 2] == "[SUCCESS]" && is_host_name(words.back()))
        return std::string(words.back());
    if (words.size() > 2 && words[1] == "|" && is_host_name(words[0])) return std::string(words[0]);
    constexpr std::string_view decoration = "=-*#<>: \t";
    const std::size_t start = std::min(line.find_first_not_of(decoration), line.size());
    const std::size_t end = line.find_last_not_of(decoration);
    if (start >= line.size() || (start == 0 && !line.ends_with(':'))) return "";
    words = words_of(line.substr(start, end + 1 - start));
    if (words.size() == 2 && (words[0] == "host:" || words[0] == "Host:" || words[0] == "node:"))
        words.erase(words.begin());
    if (words.size() != 1 || !is_host_name(words[0]) || words[0] == "Legend") return "";
    return std::string(words[0]);
}

}  // namespace tutti
