// SPDX-License-Identifier: Apache-2.0
#include "base/configuration.hpp"

namespace tutti {
namespace {

std::string text_of_value(bool is_size, std::int64_t value) {
    return is_size ? to_string(Bytes{value}) : std::to_string(value);
}

// Adds the knobs that differ from the default: "[16K,k4,x2]".
void add_knobs(std::string& name, const Configuration& configuration) {
    const char* separator = "[";
    for (const Knob& knob : knobs) {
        if (knob.of(configuration) == knob.default_value) continue;
        name.append(separator).append(knob.mark).append(knob.text_of(configuration));
        separator = ",";
    }
    if (*separator == ',') name.append("]");
}

}  // namespace

std::int64_t Knob::of(const Configuration& configuration) const {
    std::int64_t number = 0;
    visit(configuration, [&](const auto& value, const auto&) {
        if constexpr (std::is_same_v<decltype(value), const Bytes&>)
            number = value.count;
        else
            number = value;
    });
    return number;
}

void Knob::set(Configuration& configuration, std::int64_t number) const {
    visit(configuration, [&](auto& value, const auto&) {
        if constexpr (std::is_same_v<decltype(value), Bytes&>)
            value.count = number;
        else
            value = static_cast<int>(number);
    });
}

std::string Knob::text_of(const Configuration& configuration) const {
    return text_of_value(is_size(), of(configuration));
}

std::string Knob::default_text() const {
    return default_value < least ? "auto" : text_of_value(is_size(), default_value);
}

std::string letters_of_knobs() {
    std::string text;
    for (const Knob& knob : knobs)
        text.append(text.empty() ? "" : ", ").append(knob.letter).append(": ").append(knob.name);
    return text;
}

std::string variant_name(const Configuration& configuration) {
    std::string name = configuration.algorithm;
    add_knobs(name, configuration);
    if (!configuration.order.empty()) name.append("@").append(configuration.order);
    return name;
}

std::string to_string(const Configuration& configuration) {
    if (configuration.is_ours())
        return variant_name(configuration).append("/").append(configuration.transport);
    std::string name = configuration.impl;
    if (!configuration.algorithm.empty()) name.append("/").append(configuration.algorithm);
    add_knobs(name, configuration);
    return name;
}

}  // namespace tutti
