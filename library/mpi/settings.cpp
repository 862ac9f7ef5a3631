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

std::int64_t whole_number(const char* variable, const std::string& text) {
    const auto value = number_in<std::int64_t>(text);
    if (!value || *value < 0)
        throw Error(fmt::format("{}={} is invalid; use a whole number >= 0", variable, text));
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
            fmt::format("TUTTI={} is invalid; use learn, rules, off, or a table file, for example "
                        "./table.json",
                        text));
    }
}

std::uint32_t kinds_in(const std::string& text) {
    std::uint32_t kinds = 0;
    std::istringstream list(text);
    for (std::string name; std::getline(list, name, ',');)
        kinds |= 1U << static_cast<int>(parse_kind(name));
    if (kinds == 0) parse_kind(text);
    return kinds;
}

bool flag_in(const char* variable, const std::string& text) {
    if (text != "0" && text != "1")
        throw Error(fmt::format("{}={} is invalid; use 0 or 1", variable, text));
    return text == "1";
}

}  // namespace

std::string_view name_of(CallKind kind) { return name_of(static_cast<Collective>(kind)); }

std::string described(const PreloadSettings& settings) {
    const auto& [chooser, table_file, table_anyway, always, kinds, after, on_all_hosts, reports,
                 turn_calls] = settings;
    return fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(chooser), table_anyway, always,
                       kinds, after, on_all_hosts, reports, turn_calls);
}

PreloadSettings preload_settings(const std::function<const char*(const char*)>& value_of) {
    PreloadSettings settings;
    const auto read = [&](const char* variable, const auto& parse) {
        const char* const text = value_of(variable);
        if (text != nullptr && *text != '\0') parse(std::string(text));
    };
    const auto read_flag = [&](const char* variable, bool& flag) {
        read(variable, [&](const std::string& text) { flag = flag_in(variable, text); });
    };
    const auto read_number = [&](const char* variable, std::int64_t& number) {
        read(variable, [&](const std::string& text) { number = whole_number(variable, text); });
    };
    read("TUTTI", [&](const std::string& text) { read_chooser(text, settings); });
    read("TUTTI_COLLECTIVES", [&](const std::string& text) { settings.kinds = kinds_in(text); });
    read_number("TUTTI_AFTER", settings.after);
    read_flag("TUTTI_TABLE_ANYWAY", settings.table_anyway);
    read_flag("TUTTI_ALWAYS", settings.always);
    read_flag("TUTTI_ON_ALL_HOSTS", settings.on_all_hosts);
    read_flag("TUTTI_REPORT", settings.reports);
    read_number("TUTTI_AB", settings.turn_calls);
    return settings;
}

}  // namespace tutti
