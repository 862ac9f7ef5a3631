// SPDX-License-Identifier: Apache-2.0
#include "base/configuration.hpp"

namespace tutti {
namespace {

constexpr int bits_of_word = 4;  // a list has them for each word

// Returns the words of a set or list, joined by "+".
std::string words_of_value(const Knob& knob, std::int64_t value) {
    std::string text;
    const auto add = [&](std::int64_t place) {
        text.append(text.empty() ? "" : "+").append(knob.word(static_cast<std::size_t>(place)));
    };
    if (knob.form == KnobForm::set) {
        for (std::int64_t place = 0; value >> place != 0; ++place)
            if ((value >> place & 1) != 0) add(place);
    } else {
        for (; value != 0; value >>= bits_of_word) add((value & ((1 << bits_of_word) - 1)) - 1);
    }
    return text;
}

std::string text_of_value(const Knob& knob, std::int64_t value) {
    if (knob.is_size()) return to_string(Bytes{value});
    if (!knob.has_words()) return std::to_string(value);
    return value == knob.default_value ? "auto" : words_of_value(knob, value);
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
    return text_of_value(*this, of(configuration));
}

std::string Knob::default_text() const {
    return default_value < least ? "auto" : text_of_value(*this, default_value);
}

std::vector<std::string> Knob::words() const {
    std::vector<std::string> all;
    for (std::size_t place = 0; has_words() && !word(place).empty(); ++place)
        all.emplace_back(word(place));
    return all;
}

std::optional<std::int64_t> Knob::value_of_words(std::string_view text) const {
    const std::vector<std::string> known = words();
    std::int64_t value = 0;
    for (int number = 0;; ++number) {
        const std::string_view one = text.substr(0, text.find('+'));
        const auto found = std::ranges::find(known, one);
        if (found == known.end() || bits_of_word * number >= 63) return std::nullopt;
        const auto place = std::distance(known.begin(), found);
        value |= form == KnobForm::set ? std::int64_t{1} << place
                                       : std::int64_t{place + 1} << bits_of_word * number;
        if (one.size() == text.size()) return value > most ? std::nullopt : std::optional(value);
        text.remove_prefix(one.size() + 1);
    }
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
