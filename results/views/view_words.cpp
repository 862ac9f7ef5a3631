// SPDX-License-Identifier: Apache-2.0
#include "results/views/view_words.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/encoding.hpp"
#include "base/hashes.hpp"
#include "base/json_writer.hpp"
#include "base/source.hpp"

namespace tutti {
namespace {

// Programs may print any bytes; readers of XML and JSON refuse a file for one that is no UTF-8.
std::string as_utf8(const std::string& text) {
    constexpr int no_indent = -1;
    return Json::parse(Json(text).dump(no_indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

std::string name_in_views(const VerdictRecord& verdict) { return name_in_views(verdict.metric); }

std::string name_in_views(const std::string& metric) {
    if (metric.empty()) return "(no name)";
    const std::string safe = printable(as_utf8(metric));
    if (safe == metric && safe.size() <= longest_name) return metric;
    constexpr std::size_t letters_of_hash = 8;
    const std::string tail = " #" + sha256(metric).substr(0, letters_of_hash);
    return std::string(beginning_of(safe, longest_name - tail.size())) + tail;
}

std::string in_line(const std::string& text) {
    std::string safe;
    for (const char one : printable(as_utf8(text))) {
        if (one == '#' && safe.ends_with('#')) safe += '?';
        safe += one;
    }
    const std::size_t begin = safe.find_first_not_of(' ');
    if (begin != safe.npos && safe.compare(begin, 2, "::") == 0) safe[begin] = '?';
    return safe;
}

std::string in_cell(const std::string& text) {
    constexpr std::string_view marks = "|\\`*_[]~";
    std::string safe;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char one = text[at];
        if (marks.find(one) != marks.npos) safe += '\\';
        switch (one) {
            case '<':
                safe += "&lt;";
                break;
            case '&':
                safe += "&amp;";
                break;
            case '$':
                safe += "&#36;";
                break;
            case '@':
            case '#':
                safe += one + std::string("&#8203;");
                break;
            case ':':  // nor is "https://..." a link
                safe += text.compare(at, 3, "://") == 0 ? ":&#8203;" : ":";
                break;
            default:
                safe += static_cast<unsigned char>(one) < ' ' || one == 0x7f ? ' ' : one;
        }
    }
    return safe;
}

std::string time_in_views(const std::string& t) {
    constexpr std::string_view shape = "0000-00-00T00:00:00";
    const std::string time = t.substr(0, shape.size());
    const auto fits = [](char mark, char one) {
        return mark == '0' ? one >= '0' && one <= '9' : one == mark;
    };
    return std::ranges::equal(shape, time, fits) ? time : "1970-01-01T00:00:00";
}

std::string message_in_views(const std::string& text) {
    const std::string whole = as_utf8(text), shown(beginning_of(whole, longest_message));
    return shown.size() < whole.size() ? shown + "..." : shown;
}

double rounded_to_noise(double value, double noise) {
    if (!(value > 0) || !(noise > 0)) return value;
    const double step = std::pow(10., std::floor(std::log10(value * noise)));
    return std::round(value / step) * step;
}

std::string path_in_project(const std::string& file) {
    namespace fs = std::filesystem;
    if (file.empty()) return "tutti";
    fs::path path = fs::path(file).lexically_normal();
    if (path.is_absolute()) path = path.lexically_relative(fs::current_path());
    const bool is_inside = !path.empty() && *path.begin() != "..";
    return is_inside ? path.generic_string() : fs::path(file).filename().generic_string();
}

TimeUnit time_unit_for(double ns) {
    constexpr double rounds_up = 0.9995;
    for (const TimeUnit unit : {TimeUnit{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}})
        if (ns >= rounds_up * unit.ns) return unit;
    return {"ns", 1};
}

std::string time_in_words(double ns) {
    const TimeUnit unit = time_unit_for(ns);
    const double value = ns / unit.ns;
    const int decimals = unit.ns == 1 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, unit.name);
}

std::string number_in_words(double value, const std::string& unit) {
    if (unit == "ns") return time_in_words(value);
    return fmt::format("{:.5g}{}{}", value, unit.empty() ? "" : " ", in_line(unit));
}

std::string value_in_words(double value, const VerdictRecord& verdict) {
    if (value == 0) return "";
    if (!is_in_ns(verdict)) return number_in_words(value, verdict.unit);
    const TimeUnit unit = time_unit_for(value);
    return fmt::format("{:.4g} {}", value / unit.ns, unit.name);
}

std::string change_with_values(const VerdictRecord& verdict) {
    return fmt::format("{} instead of {}, {} ({})", value_in_words(verdict.b_ns, verdict),
                       value_in_words(verdict.a_ns, verdict), change_in_words(verdict),
                       basis_in_words(verdict));
}

std::string open_question(const VerdictRecord& verdict) {
    std::string text;
    if (verdict.visible > 0)
        text = fmt::format("a change of {} or more would have been seen; ",
                           size_in_words(verdict.visible));
    return text + message_in_views(verdict.to_decide.empty() ? verdict.rule : verdict.to_decide);
}

std::vector<VerdictRecord> undecided_ones(const ComparisonRecords& comparison) {
    std::vector<VerdictRecord> found;
    std::ranges::copy_if(
        comparison.verdicts, std::back_inserter(found),
        [](const VerdictRecord& one) { return one.verdict == Change::undecided && !is_mean(one); });
    return found;
}

}  // namespace tutti
