// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/compress/top_k.hpp"

namespace tutti {

/// How gradients are made smaller before they are sent.
struct Compression {
    enum class Kind : std::uint8_t { none, bf16, fp16, int8, topk };

    Kind kind = Kind::none;
    double share = 0.01;  ///< topk: of the elements
    Selection selection = Selection::exact;
    bool operator==(const Compression&) const = default;
};

/// "none", "bf16", "fp16", "int8", "topk:1%", "topk:0.1%:sampled". Throws Error that says so.
Compression parse_compression(std::string_view text);
/// As it is parsed.
std::string name_of(const Compression& compression);

/// A list with commas, "none" left out.
std::vector<Compression> parse_compressions(std::string_view text);

}  // namespace tutti
