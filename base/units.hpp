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

/// Parses "8", "4K", "1.5M" or "2GiB"; K, M, G and T are powers of 1024. Throws Error.
Bytes parse_bytes(std::string_view text);

/// Parses "2.5%" or "0.025" as 0.025. Throws Error.
double parse_fraction(std::string_view text);

/// Parses "30s", "250ms", "2m" or "0" as seconds. Throws Error, also for a number without unit.
double parse_seconds(std::string_view text);

/// Returns the shortest exact form: "512", "4K", "64M", "1000".
std::string to_string(Bytes bytes);

/// Returns a rounded amount: "512 bytes", "1.5 GiB".
std::string describe(Bytes bytes);

/// Returns "1 call", "2 calls", "2 batches".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace tutti
#pragma GCC visibility pop
