// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

inline constexpr std::size_t nowhere = std::string_view::npos;

/// ASCII only, whatever the locale.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// One line of a text that a user pasted. `text` has no terminal codes and no blanks but ' ' and
/// tabs.
struct PastedLine {
    int number = 0;  ///< from 1
    std::string text;
};

/// Lines with the same prefix, which names a rank or a host: "node1:", "[1,0]<stdout>:", "0:", ">".
struct PastedPart {
    std::string prefix;  ///< without time stamps; empty if the lines have none
    std::string host;    ///< "node1"; of several parts also "rank 0"; empty if unknown
    std::vector<PastedLine> lines;
};

/// Splits a text by the prefixes of those lines in which `heading` finds a heading. `heading`
/// returns the position of the heading, npos for other lines. Each part has its lines without
/// prefix and time stamps, in the order of the text. Rows of Markdown tables become lines with
/// tabs.
std::vector<PastedPart> pasted_parts(std::string_view text,
                                     std::size_t (*heading)(std::string_view));

/// Returns the host's name in a line such as "=== node1 ===", "node1:", "node1 | CHANGED | rc=0 >>"
/// or the prompt "user@node1:~$ nvidia-smi"; empty if there is none.
std::string host_in_title(std::string_view line);

}  // namespace tutti
