// SPDX-License-Identifier: Apache-2.0
// Compares a text as a whole with a file of this folder, the only place where tests keep whole
// texts.
//     expect_golden("results/summary.txt", mask_figures(text));
// `scripts/test --update-golden -R NAME` writes the files from what the tests of that name get;
// review the difference with git. golden.py does the same for tests in Python.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/base/source_folder.hpp"

namespace tutti::golden {

inline std::filesystem::path folder() { return source_folder() / "tests/golden"; }

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Returns the lines that differ, with `-` in front of expected and `+` in front of actual ones.
inline std::string difference(const std::string& expected, const std::string& actual) {
    const auto from = lines_of(expected), to = lines_of(actual);
    // common[i][j]: number of lines that the ends from[i..] and to[j..] have in common
    std::vector<std::vector<int>> common(from.size() + 1, std::vector<int>(to.size() + 1));
    for (std::size_t i = from.size(); i-- > 0;)
        for (std::size_t j = to.size(); j-- > 0;)
            common[i][j] = from[i] == to[j] ? common[i + 1][j + 1] + 1
                                            : std::max(common[i + 1][j], common[i][j + 1]);
    std::string text;
    std::size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        if (i < from.size() && j < to.size() && from[i] == to[j]) {
            ++i, ++j;
        } else if (i < from.size() && (j == to.size() || common[i + 1][j] >= common[i][j + 1])) {
            text += "- " + from[i++] + "\n";
        } else {
            text += "+ " + to[j++] + "\n";
        }
    }
    return text.empty() ? "(only the last line break differs)\n" : text;
}

}  // namespace tutti::golden

namespace tutti {

/// Replaces each number by `#`, and several spaces or dashes by one: figures differ from run to
/// run, and so do widths.
inline std::string mask_figures(const std::string& text) {
    const std::string masked =
        std::regex_replace(text, std::regex(R"([-+]?\b\d[\d.]*(e[-+]?\d+)?)"), "#");
    return std::regex_replace(std::regex_replace(masked, std::regex(" {2,}"), " "),
                              std::regex("-{2,}"), "-");
}

/// Replaces each occurrence of a part that differs from run to run, such as a path or a version.
inline std::string mask(std::string text, std::string_view part, std::string_view by) {
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + by.size()))
        text.replace(at, part.size(), by);
    return text;
}

inline void expect_golden(const std::string& name, const std::string& text) {
    const auto path = golden::folder() / name;
    if (std::getenv("TUTTI_UPDATE_GOLDEN") != nullptr && std::getenv("CI") == nullptr) {
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return;
    }
    std::ifstream stream(path);
    const std::string expected{std::istreambuf_iterator<char>(stream), {}};
    if (text != expected)
        ADD_FAILURE() << "the text differs from tests/golden/" << name
                      << " (to accept it: scripts/test --update-golden -R TEST)\n"
                      << golden::difference(expected, text);
}

}  // namespace tutti
