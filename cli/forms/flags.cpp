// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

const Flag* flag_called(std::span<const Flag> known, char letter) {
    const auto found = std::ranges::find(known, letter, &Flag::letter);
    return found == known.end() ? nullptr : &*found;
}

const Flag* flag_called(std::span<const Flag> known, std::string_view name) {
    if (name.size() == 1) return flag_called(known, name.front());
    const auto found = std::ranges::find(known, name, &Flag::name);
    return found == known.end() ? nullptr : &*found;
}

// Goes through the words once.
class FlagReader {
public:
    FlagReader(std::span<const Flag> known, const Arguments& words, const std::string& program)
        : known_(known), words_(words), program_(program) {}

    Typed read() {
        for (; at_ < words_.size(); ++at_) {
            const std::string& word = words_[at_];
            if (word.starts_with("--"))
                read_long(word);
            else if (word.size() > 1 && word.front() == '-')
                read_letters(std::string_view(word).substr(1));
            else
                typed_.others.push_back(word);
        }
        return std::move(typed_);
    }

private:
    void read_long(const std::string& word) {
        const std::size_t equals = word.find('=');
        const Flag* flag = flag_called(known_, std::string_view(word).substr(2, equals - 2));
        if (flag == nullptr)
            typed_.others.push_back(word);
        else if (equals != std::string::npos)
            typed_.flags.emplace_back(flag, word.substr(equals + 1));
        else
            typed_.flags.emplace_back(flag, value_behind(*flag, word));
    }

    // "-b8", or "-fc" for flags without values.
    void read_letters(std::string_view letters) {
        while (!letters.empty()) {
            const char letter = letters.front();
            letters.remove_prefix(1);
            const Flag* flag = flag_called(known_, letter);
            if (flag == nullptr)
                throw Error(fmt::format("unknown option '-{}'; see '{} --help'", letter, program_));
            if (flag->value == Flag::Value::none) {
                typed_.flags.emplace_back(flag, "");
                continue;
            }
            typed_.flags.emplace_back(flag, letters.empty()
                                                ? value_behind(*flag, std::string("-") + letter)
                                                : std::string(letters));
            return;
        }
    }

    // The next word.
    std::string value_behind(const Flag& flag, const std::string& word) {
        if (flag.value != Flag::Value::required) return "";
        if (at_ + 1 == words_.size())
            throw Error(fmt::format("{} needs a value; see '{} --help'", word, program_));
        return words_[++at_];
    }

    std::span<const Flag> known_;
    const Arguments& words_;
    const std::string& program_;
    std::size_t at_ = 0;
    Typed typed_;
};

}  // namespace

bool Typed::has(std::string_view option) const {
    return std::ranges::any_of(
        others, [&](const std::string& word) { return names_option(word, std::span(&option, 1)); });
}

std::string Typed::value_of(std::string_view option) const {
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (!names_option(others[i], std::span(&option, 1))) continue;
        if (const auto equals = others[i].find('='); equals != std::string::npos)
            return others[i].substr(equals + 1);
        return i + 1 < others.size() ? others[i + 1] : "";
    }
    return "";
}

Typed read_flags(std::span<const Flag> known, const Arguments& words, const std::string& program) {
    return FlagReader(known, words, program).read();
}

void translate(const Flag& flag, const std::string& value, Arguments& words) {
    if (value == flag.harmless && !flag.harmless.empty()) return;
    if (!flag.as.empty()) {
        words.emplace_back(flag.as);
        if (flag.value != Flag::Value::none) words.push_back(value);
    } else if (launcher().rank == 0) {
        fmt::print(stderr, "tutti: -{}{}{} is ignored: {}\n", flag.letter, value.empty() ? "" : " ",
                   value, flag.what);
    }
}

void add_candidates(const Typed& typed, Arguments& words) {
    const bool names_library = typed.has("--baseline") && typed.value_of("--baseline") != "none";
    if (!typed.has("--algo"))
        words.insert(words.end(), {"--algo", names_library ? "none" : "auto"});
    if (!typed.has("--baseline")) words.insert(words.end(), {"--baseline", "none"});
}

std::string help_on(std::span<const Flag> known, const std::string& program,
                    std::string_view collective) {
    std::string text = fmt::format("usage: {} ...\n\n", program);
    for (const Flag& flag : known)
        text += fmt::format("  -{},--{:<22}  {}\n", flag.letter, flag.name, flag.what);
    return text +
           fmt::format(
               "\nBehind these, every option of 'tutti bench {}' with two hyphens, as --algo "
               "ring or --json FILE.\n",
               collective);
}

}  // namespace tutti
