// SPDX-License-Identifier: Apache-2.0
#include "cli/options/named_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/algorithm_files.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {

void NamedWords::add_option(const OptionGroup& group) {
    group.flag("--allow-skips", allowed_,
               "Do not fail if a named algorithm, transport or library cannot run");
}

void NamedWords::read(const OptionGroup& group) {
    for (const std::string option : {"--algo", "--transport", "--baseline"})
        for (const std::string& typed : group.app().get_option(option)->results()) {
            const std::vector<std::string> names =
                option == "--algo" ? parse_algorithms(typed) : split_list(typed);
            if (std::ranges::find(names, "none") != names.end()) continue;
            for (const std::string& name : names)
                if (name != "all") words_[option + " " + name];
        }
}

template <class Visit>
void NamedWords::for_each_of(const Configuration& candidate, Visit&& visit) {
    const auto visit_if_named = [&](const std::string& word) {
        if (const auto found = words_.find(word); found != words_.end()) visit(found->second);
    };
    if (candidate.is_ours()) {
        visit_if_named("--algo " + candidate.algorithm);
        visit_if_named("--transport " + candidate.transport);
        return;
    }
    const bool is_forced = !candidate.algorithm.empty() && candidate.algorithm != candidate.impl;
    visit_if_named("--baseline " + candidate.impl + (is_forced ? "/" + candidate.algorithm : ""));
    visit_if_named("--baseline " + candidate.impl + "/all");
}

void NamedWords::measured(const Configuration& candidate) {
    for_each_of(candidate, [](Word& word) { word.is_measured = true; });
}

void NamedWords::skipped(const Configuration& candidate, const std::string& what) {
    for_each_of(candidate, [&](Word& word) {
        if (word.why.empty()) word.why = what;
    });
}

std::optional<std::string> NamedWords::complaint() const {
    std::map<std::string, std::string> words_by_reason;
    for (const auto& [name, word] : words_) {
        if (allowed_ || word.is_measured || word.why.empty()) continue;
        std::string& words = words_by_reason[word.why];
        words += (words.empty() ? "" : ", ") + name;
    }
    if (words_by_reason.empty()) return std::nullopt;
    std::string line;
    for (const auto& [why, words] : words_by_reason)
        line += fmt::format("{}{} ({})", line.empty() ? "" : "; ", words, why);
    return "named, but not measured: " + line +
           "; remove what cannot run here, or use --allow-skips";
}

}  // namespace tutti
