// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/printed_metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "base/encoding.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/source.hpp"

namespace tutti {
namespace {

// Ratios of numbers outside of these limits could overflow.
constexpr double least_number = 1e-100, most_number = 1e100;

Reading in_trouble(std::string trouble) {
    Reading reading;
    reading.trouble = std::move(trouble);
    return reading;
}

Reading reading_of(const PrintedNumber& number, std::string_view text) {
    if (number.value >= least_number && number.value <= most_number) return {number};
    return in_trouble(
        fmt::format("'{}', which is not a number from 1e-100 to 1e100", printable(text)));
}

// The lines that a terminal shows. A carriage return stands before each text that overwrote one.
class Screen {
public:
    explicit Screen(std::string_view text) : rest_(without_byte_order_mark(text)) {
        while (!rest_.empty()) {
            const char c = take();
            if (c == '\n')
                move(1);
            else if (c == '\b')
                erase(1);
            else if (c == '\x1b')
                escape();
            else
                lines_[row_] += c;
        }
    }

    std::string text() const { return fmt::format("{}", fmt::join(lines_, "\n")); }

private:
    char take() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }

    // Takes what is in the class of characters from `first` to `last`.
    std::string_view take_all(char first, char last) {
        const auto is_other = [&](char c) { return c < first || c > last; };
        const auto length = std::ranges::find_if(rest_, is_other) - rest_.begin();
        const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(length));
        rest_.remove_prefix(taken.size());
        return taken;
    }

    void escape() {
        if (rest_.empty() || rest_.front() == '\n') return;
        const char kind = rest_.front();
        if (kind >= ' ' && kind <= '/') {  // a character set
            take_all(' ', '/');
            if (!rest_.empty() && rest_.front() != '\n') take();
        } else if (take() == '[') {
            const std::string_view parameters = take_all('0', '?');
            take_all(' ', '/');
            if (!rest_.empty() && rest_.front() >= '@' && rest_.front() <= '~')
                control(take(), parameters);
        } else if (std::string_view("]P^_X").find(kind) != std::string_view::npos) {  // a title
            while (!rest_.empty() && rest_.front() != '\n' && rest_.front() != '\x1b')
                if (take() == '\a') return;
        }
    }

    void control(char command, std::string_view parameters) {
        const auto lines = std::ssize(lines_), row = static_cast<std::ptrdiff_t>(row_);
        const std::ptrdiff_t count =
            std::max<std::int64_t>(decimal_number(parameters).value_or(1), 1);
        switch (command) {
            case 'A':  // up
            case 'F':
                return move(-std::min(count, row));
            case 'B':  // down
            case 'E':
                return move(std::min(count, lines - 1 - row));
            case 'D':
                return erase(count);
            case 'G':
                lines_[row_] += '\r';
                return;
            case 'J':
                if (parameters == "2") lines_.assign(1, ""), row_ = 0;
                return;
            default:
                return;
        }
    }

    void move(std::ptrdiff_t rows) {
        row_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(row_) + rows);
        if (row_ == lines_.size())
            lines_.emplace_back();
        else
            lines_[row_] += '\r';
    }

    // Moves the cursor left; what was there is overwritten.
    void erase(std::ptrdiff_t characters) {
        std::string& line = lines_[row_];
        const std::size_t begin = line.rfind('\r') + 1;  // 0 if there is none
        line.resize(line.size() -
                    std::min(line.size() - begin, static_cast<std::size_t>(characters)));
    }

    std::string_view rest_;
    std::vector<std::string> lines_{""};
    std::size_t row_ = 0;
};

// Cuts a line at its carriage returns. The last part is what a terminal shows at the end.
std::vector<std::string> overwritten_parts(const std::string& line) {
    std::vector<std::string> parts;
    std::istringstream rest(line);
    for (std::string part; std::getline(rest, part, '\r');) parts.push_back(part);
    return parts;
}

// Writes a key as a part of a JSON pointer.
std::string in_pointer(const std::string& key) {
    std::string text;
    for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return text;
}

// Returns the unit that an object names for its field `key`; empty if it names none.
std::string unit_beside(const nlohmann::json& object, const std::string& key) {
    if (!object.is_object()) return "";
    for (const char* name : {"unit", "units", "time_unit"}) {
        if (name == std::string_view("time_unit") && key.find("time") == key.npos) continue;
        if (const auto unit = object.find(name); unit != object.end() && unit->is_string())
            return *unit;
    }
    return "";
}

// Reads one metric from the output of a run.
class MetricReader {
public:
    MetricReader(const std::string& metric, PrintedMetrics& printed)
        : metric_(metric), printed_(printed) {}

    void look_into_json(const std::string& output, const std::string& errors) {
        try {
            const auto all = json_in(output, errors);
            if (metric_.ends_with("/*") || metric_.find("/*/") != metric_.npos) {
                look_at_each(all, "", metric_);
                if (!has_match_) misused("does not match the program's output");
                return;
            }
            const nlohmann::json::json_pointer pointer(metric_);
            const auto& value = all.at(pointer);
            if (look_at(all, pointer, value)) return;
            // A nested list is not printed: that takes a stack frame for each level.
            misused(fmt::format("points to {}, which is not a number",
                                value.is_structured() ? value.type_name() : value.dump()));
        } catch (const nlohmann::json::exception& error) {
            constexpr int number_overflow = 406;
            if (error.id == number_overflow)
                add(metric_, in_trouble(fmt::format("JSON with a number that is too large: {}",
                                                    error.what())));
            else if (json_lines_ > 1)
                misused(
                    fmt::format("does not match a list of the program's {0} lines of JSON; use "
                                "/0{1} for the first or /*{1} for all",
                                json_lines_, metric_));
            else
                misused(fmt::format("does not match the program's output: {}", error.what()));
        }
    }

    void look_at_lines(const std::string& output, const std::string& errors) {
        const std::regex pattern = expression();
        const int long_lines = printed_.long_lines;
        printed_.long_lines = 0;
        look_at_lines_of(output, pattern, {});
        const bool is_named = pattern.mark_count() == 2;
        const auto on_stdout = printed_.lines;
        if (is_named || !has_match_) look_at_lines_of(errors, pattern, on_stdout);
        if (!has_match_)
            misused("matches no line of the program's output" +
                    (printed_.long_lines == 0
                         ? ""
                         : fmt::format("; {} lines over {} bytes are not searched",
                                       printed_.long_lines, longest_searched_line)));
        printed_.long_lines = std::max(printed_.long_lines, long_lines);
    }

private:
    // Returns the document on stdout or stderr, or else that of their lines which are objects: one
    // as it is, several as a list.
    nlohmann::json json_in(const std::string& output, const std::string& errors) {
        for (const std::string& text : {output, errors})
            if (nlohmann::json::accept(text)) return nlohmann::json::parse(text);
        for (const std::string& text : {output, errors}) {
            auto found = nlohmann::json::array();
            std::istringstream lines(text);
            for (std::string line; std::getline(lines, line);)
                if (line.starts_with('{') && nlohmann::json::accept(line))
                    found.push_back(nlohmann::json::parse(line));
            json_lines_ = found.size();
            if (json_lines_ > 0) return json_lines_ == 1 ? found.front() : found;
        }
        return nlohmann::json::parse(output);  // throws the reason
    }

    std::regex expression() const {
        std::regex pattern;
        try {
            pattern = metric_;
        } catch (const std::regex_error& error) {
            throw Error(fmt::format("--metric '{}' is not a valid regular expression: {}", metric_,
                                    error.what()));
        }
        if (pattern.mark_count() < 1 || pattern.mark_count() > 2)
            throw Error(
                fmt::format("--metric '{}' has {} groups; use one (the number) or two (a name and "
                            "the number)",
                            metric_, pattern.mark_count()));
        return pattern;
    }

    // Reads each line that matches, unless its name is one of the `known`.
    void look_at_lines_of(const std::string& text, const std::regex& pattern,
                          const std::map<std::string, int>& known) {
        const bool is_named = pattern.mark_count() == 2;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const auto parts = overwritten_parts(line);
            std::smatch match;
            const auto part = std::find_if(parts.rbegin(), parts.rend(), [&](const auto& one) {
                // std::regex takes a stack frame per character.
                if (one.size() > longest_searched_line) ++printed_.long_lines;
                return one.size() <= longest_searched_line &&
                       std::regex_search(one, match, pattern);
            });
            if (part == parts.rend()) continue;
            has_match_ = true;
            if (is_named && known.contains(printable(match[1].str()))) continue;
            const auto& number = match[is_named ? 2 : 1];
            look_at(is_named ? match[1].str() : metric_, *part,
                    number.matched ? std::string_view(number.first, number.second)
                                   : std::string_view(*part).substr(part->size()));
            if (!is_named) break;
        }
    }

    void look_at(const std::string& name, std::string_view line, std::string_view text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (const auto found = printed_number_in(line, text))
            return add(name, reading_of(*found, text));
        if (error == std::errc{} && end == text.data() + text.size() && !std::isfinite(number))
            return add(name, reading_of({number}, text));
        const bool has_comma = has_decimal_comma(line.substr(as_size(text.data() - line.data())));
        const std::string what =
            fmt::format("'{}', which {}", printable(text),
                        has_comma || text.find(',') != text.npos ? "may have a decimal comma"
                                                                 : "is not a number");
        add(name, in_trouble(what));
        misused(fmt::format(
            "captures {}; use {}", what,
            has_comma ? "LC_ALL=C for the program" : "a last group that matches only the number"));
    }

    // Reads a number, or a text such as "5 ms". Returns whether the value is one.
    bool look_at(const nlohmann::json& all, const nlohmann::json::json_pointer& pointer,
                 const nlohmann::json& value) {
        std::optional<PrintedNumber> number;
        std::string text;
        if (value.is_string()) {
            text = value.get<std::string>();
            number = printed_number_in(text, text);
        } else if (value.is_number()) {
            text = value.dump();
            number = PrintedNumber{value.get<double>()};
            const std::string unit =
                pointer.empty() ? ""
                                : unit_beside(all.at(pointer.parent_pointer()), pointer.back());
            if (const auto known = with_unit(number->value, unit)) number = known;
        }
        if (!number) return false;
        has_match_ = true;
        add(pointer.to_string(), reading_of(*number, text));
        return true;
    }

    // Looks at what a pointer with '*' matches; '*' matches each entry of a list or an object.
    void look_at_each(const nlohmann::json& all, const std::string& done, std::string_view rest) {
        const nlohmann::json::json_pointer here(done);
        if (!all.contains(here)) return;
        const nlohmann::json& value = all.at(here);
        if (rest.empty()) {
            look_at(all, here, value);
            return;
        }
        const std::size_t end = std::min(rest.find('/', 1), rest.size());
        const std::string_view part = rest.substr(0, end);
        rest.remove_prefix(end);
        if (part != "/*" || (value.is_object() && value.contains("*")))
            return look_at_each(all, done + std::string(part), rest);
        if (value.is_structured())
            for (const auto& entry : value.items())
                look_at_each(all, done + "/" + in_pointer(entry.key()), rest);
    }

    // Numbers readings of the same name: NAME, NAME (2), NAME (3).
    void add(const std::string& metric, Reading reading) {
        std::string name = printable(metric);
        if (const int line = ++printed_.lines[name]; line > 1) name += fmt::format(" ({})", line);
        printed_.order.push_back(name);
        printed_.readings.insert_or_assign(name, std::move(reading));
    }

    void misused(const std::string& how) {
        printed_.misused.emplace(metric_, fmt::format("--metric '{}' {}", metric_, how));
    }

    const std::string& metric_;
    PrintedMetrics& printed_;
    bool has_match_ = false;
    std::size_t json_lines_ = 0;
};

}  // namespace

PrintedMetrics metrics_in(const std::string& output, const std::string& errors,
                          const std::vector<std::string>& metrics) {
    PrintedMetrics printed;
    const std::string plain_output = Screen(output).text(), plain_errors = Screen(errors).text();
    for (const std::string& metric : metrics) {
        MetricReader reader(metric, printed);
        if (metric.starts_with('/'))
            reader.look_into_json(plain_output, plain_errors);
        else
            reader.look_at_lines(plain_output, plain_errors);
    }
    return printed;
}

}  // namespace tutti
