// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace tutti {

/// An amount of memory.
struct Bytes {
    std::int64_t count = 0;
    auto operator<=>(const Bytes&) const = default;
};

/// "8", "4K", "1.5M", "2GiB": K, M, G, T are powers of 1024. Throws Error for anything else.
Bytes parse_bytes(std::string_view text);

/// "2.5%" or "0.025" as 0.025. Throws Error for anything else.
double parse_fraction(std::string_view text);

/// "30s", "250ms", "2m" or "0", in seconds. Throws Error for anything else, such as a bare 20.
double parse_seconds(std::string_view text);

/// The shortest exact form: "512", "4K", "64M"; numbers that are no whole multiple stay plain.
std::string to_string(Bytes bytes);

/// Rounded: "512 bytes", "1.5 GiB".
std::string in_words(Bytes bytes);

/// "1 call", "2 calls", "2 batches".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace tutti
#pragma GCC visibility pop
