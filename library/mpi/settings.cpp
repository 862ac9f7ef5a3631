// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/settings.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>
#include <vector>

#include "base/name_table.hpp"
#include "base/source.hpp"
#include "base/types.hpp"

namespace tutti {
namespace {

std::int64_t whole_number(const char* variable, const std::string& text, std::int64_t least) {
    const auto value = number_in<std::int64_t>(text);
    if (!value || *value < least)
        throw Error(fmt::format("{} '{}' is no whole number from {} upwards; type for example 100",
                                variable, text, least));
    return *value;
}

CallKind parse_kind(const std::string& text) {
    std::vector<std::string> names;
    for (int i = 0; i < call_kinds; ++i) {
        const auto kind = static_cast<CallKind>(i);
        if (name_of(kind) == text) return kind;
        names.emplace_back(name_of(kind));
    }
    throw Error(unknown_name("collective", text, names));
}

void read_chooser(const std::string& text, PreloadSettings& settings) {
    if (text == "learn") {
        settings.chooser = PreloadChoice::learn;
    } else if (text == "rules") {
        settings.chooser = PreloadChoice::rules;
    } else if (text == "off") {
        settings.chooser = PreloadChoice::off;
    } else if (text.find_first_of("./") != std::string::npos) {
        settings.chooser = PreloadChoice::table;
        settings.table_file = text;
    } else {
        throw Error(
            fmt::format("TUTTI '{}' is unknown; type learn, rules, off, or the file of a "
                        "table, for example ./table.json",
                        text));
    }
}

void read_kinds(const std::string& text, PreloadSettings& settings) {
    settings.kinds = 0;
    std::istringstream list(text);
    for (std::string name; std::getline(list, name, ',');)
        settings.kinds |= 1U << static_cast<int>(parse_kind(name));
    if (settings.kinds == 0) parse_kind(text);
}

void read_after(const std::string& text, PreloadSettings& settings) {
    settings.after = whole_number("TUTTI_AFTER", text, 0);
}

bool yes_or_no(const char* variable, const std::string& text) {
    if (text != "0" && text != "1")
        throw Error(fmt::format("{} '{}' is unknown; type 1, or 0", variable, text));
    return text == "1";
}

void read_anyway(const std::string& text, PreloadSettings& settings) {
    settings.table_anyway = yes_or_no("TUTTI_TABLE_ANYWAY", text);
}

void read_always(const std::string& text, PreloadSettings& settings) {
    settings.always = yes_or_no("TUTTI_ALWAYS", text);
}

void read_reports(const std::string& text, PreloadSettings& settings) {
    settings.reports = yes_or_no("TUTTI_REPORT", text);
}

void read_turns(const std::string& text, PreloadSettings& settings) {
    settings.turn_calls = whole_number("TUTTI_AB", text, 0);
}

constexpr std::pair<const char*, void (*)(const std::string&, PreloadSettings&)> variables[] = {
    {"TUTTI", read_chooser},       {"TUTTI_COLLECTIVES", read_kinds},
    {"TUTTI_AFTER", read_after},   {"TUTTI_TABLE_ANYWAY", read_anyway},
    {"TUTTI_ALWAYS", read_always}, {"TUTTI_REPORT", read_reports},
    {"TUTTI_AB", read_turns},
};

}  // namespace

std::string_view name_of(CallKind kind) {
    switch (kind) {
        case CallKind::barrier:
            return "barrier";
        case CallKind::scan:
            return "scan";
        case CallKind::exscan:
            return "exscan";
        default:
            return name_of(static_cast<Collective>(kind));
    }
}

PreloadSettings preload_settings(const std::function<const char*(const char*)>& value_of) {
    PreloadSettings settings;
    for (const auto& [name, read] : variables) {
        const char* const text = value_of(name);
        if (text != nullptr && *text != '\0') read(text, settings);
    }
    return settings;
}

}  // namespace tutti
