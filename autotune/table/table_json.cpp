// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table_json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "autotune/table/table_fields.hpp"
#include "base/encoding.hpp"
#include "base/output.hpp"

namespace tutti {
namespace {

// Larger numbers are mistakes: no job has that many ranks.
constexpr int most_ranks = 1 << 24;

}  // namespace

void check(const JobShape& job_shape, const JsonPlace& place) {
    if (job_shape.ranks < 1 || job_shape.ranks > most_ranks)
        place.fail(fmt::format("has {} ranks; use 1 to {}", job_shape.ranks, most_ranks));
    if (job_shape.ranks_per_host < 1 || job_shape.ranks_per_host > job_shape.ranks)
        place.fail(fmt::format("has {} of its {} ranks on a host", job_shape.ranks_per_host,
                               job_shape.ranks));
}

void check(const Subject& subject, const JsonPlace& place) {
    const bool adds_up = reduces(subject.collective);
    if (adds_up == (subject.types == TypeClass::bytes) || adds_up == (subject.ops == OpClass::none))
        place.fail(fmt::format("combines {} types and {} operations with {}, which {}",
                               name_of(subject.types), name_of(subject.ops),
                               name_of(subject.collective),
                               adds_up ? "reduces" : "does not reduce"));
}

void check(const Configuration& configuration, const JsonPlace& place) {
    const Configuration& c = configuration;
    if (c.impl.empty()) place.fail("does not say whose implementation it is");
    if (c.is_ours() && (c.algorithm.empty() || c.transport.empty()))
        place.fail("is tutti's own, but lacks its algorithm or its transport");
    for (const Knob& knob : knobs) {
        const std::int64_t value = knob.of(c);
        if (value == knob.default_value) continue;
        if (value < knob.least)
            place.fail(fmt::format("has '{}' of {}, less than {}", knob.name, value, knob.least));
        if (value > knob.most)
            place.fail(fmt::format("has '{}' of {}, more than {}", knob.name, value, knob.most));
    }
}

void check(const TimeInterval& time, const JsonPlace& place) {
    if (time.low < 0) place.fail("is a negative time");
    if (time.n < 0) place.fail("has a negative number of samples");
    if (!(time.low <= time.p50 && time.p50 <= time.high))
        place.fail(fmt::format("has a median of {} that is not within its interval, {} to {}",
                               time.p50, time.low, time.high));
}

void check(const HoldOut& hold_out, const JsonPlace& place) {
    if (hold_out.library.empty()) place.fail("does not name the library");
    if (hold_out.gain_low < 0) place.fail("has a negative gain");
    if (!(hold_out.gain_low <= hold_out.gain && hold_out.gain <= hold_out.gain_high))
        place.fail(fmt::format("has a gain of {} that is not within its interval, {} to {}",
                               hold_out.gain, hold_out.gain_low, hold_out.gain_high));
}

void check(const RangeEvidence& evidence, const JsonPlace& place) {
    if (evidence.size < Bytes{0}) place.fail("has a negative size");
    if (evidence.runner_up_time && !evidence.runner_up)
        place.fail("has a time of a runner-up that it does not name");
}

void check(const Section& section, const JsonPlace& place) {
    const JsonPlace ranges = place.needed("ranges");
    if (section.ranges.empty()) ranges.fail("is empty");
    if (section.ranges.front().from != Bytes{0})
        ranges.item(0).fail(fmt::format("begins at {} bytes; the first range has to begin at 0",
                                        section.ranges.front().from.count));
    for (std::size_t i = 1; i < section.ranges.size(); ++i)
        if (section.ranges[i].from <= section.ranges[i - 1].from)
            ranges.item(i).fail(
                fmt::format("begins at {} bytes, not above the beginning of the previous range",
                            section.ranges[i].from.count));
}

void check(const Table& table, const JsonPlace& place) {
    std::set<std::pair<JobShape, Subject>> seen;
    for (std::size_t i = 0; i < table.sections.size(); ++i) {
        const Section& section = table.sections[i];
        if (!seen.emplace(section.job_shape, section.subject).second)
            place.needed("sections")
                .item(i)
                .fail(fmt::format("appears twice: {}", to_string(section.subject)));
    }
}

namespace {

constexpr JsonRules rules{.remedy = remedy, .texts = JsonRules::Texts::names};

void check_format(const Source& source, const JsonValue& json) {
    const JsonValue* format = json.find("format");
    const auto* name = format ? format->text() : nullptr;
    if (!name || *name != "tutti-table")
        source.fail(json.line,
                    "not a tuning table: \"format\": \"tutti-table\" is missing; use a file that "
                    "`tutti tune` wrote");
    const JsonValue* field = json.find("version");
    const auto* version = field ? field->whole_number() : nullptr;
    if (!version || *version < 1)
        source.fail(field ? field->line : json.line,
                    fmt::format("'version' is not a whole number from 1 upwards{}", remedy));
    if (*version > Table::version)
        source.fail(field->line, fmt::format("made by a newer tutti, in version {} of the format; "
                                             "this one reads version {}: use the newer tutti, or "
                                             "create a new table: tutti tune",
                                             *version, Table::version));
}

// Writes the items between the brackets, each after its separator.
template <class Put>
void print_items(const Json& json, std::string_view before, std::string_view between,
                 std::string& text, Put put) {
    bool first = true;
    for (const auto& [name, value] : json.items()) {
        text += first ? before : between;
        first = false;
        if (json.is_object()) text.append(one_line(name)).append(": ");
        put(value);
    }
}

void print_on_one_line(const Json& json, std::string& text) {
    if (!json.is_structured()) {
        text += one_line(json);
        return;
    }
    text += json.is_array() ? '[' : '{';
    print_items(json, "", ", ", text, [&](const Json& value) { print_on_one_line(value, text); });
    text += json.is_array() ? ']' : '}';
}

// Puts on one line what fits, so that a time with its interval or a choice is read at a glance.
void print(const Json& json, std::size_t indent, std::string& text) {
    constexpr std::size_t width = 110;
    std::string line;
    print_on_one_line(json, line);
    if (indent + line.size() <= width || !json.is_structured()) {
        text += line;
        return;
    }
    const std::string outer = fmt::format("\n{:{}}", "", indent);
    const std::string inner = fmt::format("{}  ", outer);
    text += json.is_array() ? '[' : '{';
    print_items(json, inner, fmt::format(",{}", inner), text,
                [&](const Json& value) { print(value, indent + 2, text); });
    text += outer;
    text += json.is_array() ? ']' : '}';
}

}  // namespace

std::string to_json(const Table& table) {
    JsonWriter writer{.object = {{"format", "tutti-table"}, {"version", Table::version}}};
    walk(writer, table);
    std::string text;
    print(writer.object, 0, text);
    return text + "\n";
}

Table parse_table(std::string_view text, std::string_view name) {
    const Source source(text, name);
    const JsonValue json = parse_json(source);
    check_format(source, json);
    Table table;
    decode(JsonPlace(json, source, rules), table);
    return table;
}

Table read_table(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (std::filesystem::is_directory(path))
        throw Error(fmt::format("the table '{}' is a folder; use a file in it, such as table.json",
                                path.string()));
    if (!stream)
        throw Error(fmt::format("cannot read the table '{}'; create one: tutti tune --table FILE",
                                path.string()));
    const std::string text = in_utf8(std::string{std::istreambuf_iterator<char>(stream), {}});
    if (text.find_first_not_of(" \t\r\n") == text.npos) return {};
    return parse_table(text, path.string());
}

Table read_choices(const std::filesystem::path& path) {
    Table table = read_table(path);
    if (table.sections.empty())
        throw Error(
            fmt::format("the tuning table '{0}' has no entries (was 'tutti tune' interrupted?); "
                        "run: tutti tune --table {0}",
                        path.string()));
    return table;
}

void keep_table(const Table& table, const std::filesystem::path& path) {
    const std::string text = to_json(table);
    parse_table(text, path.string());
    replace_file(path, text, "the table");
}

}  // namespace tutti
