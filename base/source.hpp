// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// The text that is being read; makes errors with name and line.
class Source {
public:
    Source(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    std::string_view text() const { return text_; }
    const std::string& name() const { return name_; }

    /// Returns the line number, from 1, of this position in the text.
    int line_of(std::size_t position) const;

    /// "NAME:LINE: what"
    std::string at(int line, std::string_view what) const;

    /// Throws Error with the text of at(), without control characters.
    [[noreturn]] void fail(int line, const std::string& what) const;

private:
    std::string_view text_;
    std::string name_;
};

/// Returns the text in quotes, without control characters and cut to `readable` characters.
std::string in_quotes(std::string_view text, std::size_t readable = 40);

/// Replaces control characters (ASCII and, in UTF-8, Latin-1) by '?', for names that come from
/// files and devices.
std::string printable(std::string_view text);

/// Returns the text for an attribute or element of XML: its special characters escaped, control
/// characters (ASCII) as blanks.
std::string xml_escaped(std::string_view text);

/// Converts the whole text to a number; none if it is not one or does not fit. `form` is the base
/// or format of std::from_chars.
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

/// Returns the text with its ASCII letters in lower case.
std::string in_lower_case(std::string_view text);

/// Splits the text at blanks, tabs and line ends.
std::vector<std::string_view> words_of(std::string_view text);

/// Returns a PCI address such as "0000:2c:00.0" in lower case; none if the text is not one.
std::optional<std::string> pci_address(std::string_view text);

/// Limit for CPU numbers in files. Kernels are built for at most 8192 CPUs; larger numbers are
/// mistakes and would cost memory.
constexpr int most_cpus = 65536;

/// Returns the CPUs whose bits are set in "00ff,ffffffff" or hwloc's "0x000000ff,0xffffffff",
/// ascending. None for hwloc's infinite sets ("0xf...f"). Throws Error through `source`.
std::optional<std::vector<int>> cpus_of_mask(std::string_view mask, const Source& source, int line);

/// Returns the CPUs of an ascending list such as "0-19,40-59". Throws Error through `source`.
std::vector<int> cpus_of_list(std::string_view list, const Source& source, int line);

}  // namespace tutti
