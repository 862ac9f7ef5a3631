// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// The text that is being read, for errors that lead to the place.
class Source {
public:
    Source(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    std::string_view text() const { return text_; }
    const std::string& name() const { return name_; }

    /// The number of the line, from 1, that holds this position of the text.
    int line_of(std::size_t position) const;

    /// "NAME:LINE: what"
    std::string at(int line, std::string_view what) const;

    /// Throws Error with the text of at(), printable, on one line.
    [[noreturn]] void fail(int line, const std::string& what) const;

private:
    std::string_view text_;
    std::string name_;
};

/// In quotes, cut to a readable length, without what a terminal would obey.
std::string in_quotes(std::string_view text, std::size_t readable = 40);

/// Names come from files and devices: what a terminal would obey or break a line at (control
/// characters of ASCII and, in UTF-8, of Latin-1) becomes '?'.
std::string printable(std::string_view text);

/// All of the text as a number: none if it is anything else or does not fit. `form` as from_chars
/// takes it.
template <class Number, class... Form>
std::optional<Number> number_in(std::string_view text, Form... form) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number, form...);
    if (text.empty() || stop != end || fault != std::errc{}) return std::nullopt;
    return number;
}
std::optional<std::int64_t> decimal_number(std::string_view text);
std::optional<std::int64_t> hexadecimal_number(std::string_view text);  ///< with or without "0x"
std::optional<double> real_number(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

/// Words between blanks, tabs and line ends.
std::vector<std::string_view> words_of(std::string_view text);

/// "0000:2c:00.0" in small letters: none if the text is no PCI address.
std::optional<std::string> pci_address(std::string_view text);

/// Kernels are built for at most 8192 CPUs; a larger number in a file is a mistake, and would cost
/// memory.
constexpr int most_cpus = 65536;

/// "00ff,ffffffff" (also with 0x before each word, as hwloc writes) as the CPUs whose bits are set,
/// ascending. None for hwloc's endless sets ("0xf...f"); throws through `source` for anything else.
std::optional<std::vector<int>> cpus_of_mask(std::string_view mask, const Source& source, int line);

/// "0-19,40-59", ascending.
std::vector<int> cpus_of_list(std::string_view list, const Source& source, int line);

}  // namespace tutti
