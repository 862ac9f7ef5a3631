// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/settings.hpp"

#include <fmt/format.h>

#include "base/name_table.hpp"

namespace tutti {

Settings::Settings(std::span<const SettingRow> rows, std::map<std::string, std::string> typed)
    : rows_(rows.begin(), rows.end()) {
    std::vector<std::string> names;
    for (const SettingRow& row : rows) {
        texts_[std::string(row.name)] = row.default_value;
        names.emplace_back(row.name);
    }
    for (auto& [name, value] : typed) {
        const auto known = texts_.find(name);
        if (known == texts_.end()) throw Error(unknown_name("setting", name, names));
        known->second = std::move(value);
    }
}

const std::string& Settings::text(std::string_view name) const {
    const auto at = texts_.find(name);
    if (at == texts_.end()) throw Error(fmt::format("this workload has no setting '{}'", name));
    return at->second;
}

std::int64_t Settings::number(std::string_view name, std::int64_t least, std::int64_t most) const {
    const auto value = number_in<std::int64_t>(text(name));
    if (!value || *value < least || *value > most)
        refuse(name, fmt::format("a number from {} to {}", least, most));
    return *value;
}

double Settings::real(std::string_view name, double least, double most) const {
    const auto value = number_in<double>(text(name));
    if (!value || !(*value >= least) || !(*value <= most))
        refuse(name, fmt::format("a number from {:g} to {:g}", least, most));
    return *value;
}

Bytes Settings::bytes(std::string_view name) const {
    return parsed(name, parse_bytes, "an amount such as 25M");
}

double Settings::seconds(std::string_view name) const {
    return parsed(name, parse_seconds, "a time such as 50ms, with its unit");
}

double Settings::fraction(std::string_view name) const {
    return parsed(name, parse_fraction, "a share such as 10% or 0.1");
}

bool Settings::yes(std::string_view name) const {
    return word<bool>(name, {{"yes", true}, {"no", false}});
}

std::vector<std::string> Settings::list(std::string_view name) const {
    const auto parts = split(text(name), ',');
    return {parts.begin(), parts.end()};
}

std::string Settings::to_string() const {
    std::string words;
    for (const SettingRow& row : rows_)
        if (text(row.name) != row.default_value)
            words += fmt::format("{}{}={}", words.empty() ? "" : " ", row.name, text(row.name));
    return words;
}

void Settings::refuse(std::string_view name, const std::string& expected) const {
    throw Error(fmt::format("--{} {} is not {}", name, text(name), expected));
}

}  // namespace tutti
