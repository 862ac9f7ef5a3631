// SPDX-License-Identifier: Apache-2.0
#include "cli/options/shell_words.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace tutti {

std::vector<std::string> shell_words(std::string_view text) {
    std::vector<std::string> words;
    bool is_in_word = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char now = text[i];
        const bool is_blank = now == ' ' || now == '\t' || now == '\n';
        if (quote == 0 && is_blank) {
            is_in_word = false;
            continue;
        }
        if (!is_in_word) words.emplace_back();
        is_in_word = true;
        if (quote == 0 && (now == '"' || now == '\''))
            quote = now;
        else if (now == quote)
            quote = 0;
        else if (const char next = i + 1 < text.size() ? text[i + 1] : 0;
                 now == '\\' && quote != '\'' && next != 0 &&
                 (quote == 0 || std::string_view("\"\\$`").find(next) != std::string_view::npos))
            words.back() += text[++i];
        else
            words.back() += now;
    }
    if (quote != 0)
        throw Error(fmt::format("there is no second {} in {}; type one, or \\{} for the character",
                                quote, text, quote));
    return words;
}

}  // namespace tutti
