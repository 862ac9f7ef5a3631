// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/compression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "base/source.hpp"
#include "base/units.hpp"

namespace tutti {
namespace {

using Kind = Compression::Kind;

constexpr Named<Kind> kinds[] = {{Kind::none, "none"},
                                 {Kind::bf16, "bf16"},
                                 {Kind::fp16, "fp16"},
                                 {Kind::int8, "int8"},
                                 {Kind::topk, "topk"}};

[[noreturn]] void refuse(std::string_view text) {
    throw Error(fmt::format(
        "--compress {} is none of none, bf16, fp16, int8, topk:1%, topk:1%:sampled", text));
}

// What stands ahead of the first colon; `rest` is left with what comes after it.
std::string_view word_of(std::string_view& rest) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view word = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    return word;
}

}  // namespace

Compression parse_compression(std::string_view text) {
    std::string_view rest = text;
    const std::string_view word = word_of(rest);
    const auto* row = find_in(kinds, word);
    if (row == nullptr) refuse(text);
    Compression compression{.kind = row->value};
    if (compression.kind != Kind::topk) {
        if (word.size() != text.size()) refuse(text);
        return compression;
    }
    const std::string_view share = word_of(rest);
    try {
        compression.share = parse_fraction(share);
    } catch (const Error&) {
        refuse(text);
    }
    if (!(compression.share > 0) || compression.share > 1)
        throw Error(
            fmt::format("--compress {}: a share is above 0 and at most 100%; type topk:1%", text));
    if (rest == "sampled")
        compression.selection = Selection::sampled;
    else if (!rest.empty())
        refuse(text);
    return compression;
}

std::string name_of(const Compression& compression) {
    std::string name(name_in(kinds, compression.kind));
    if (compression.kind == Kind::topk)
        name += fmt::format(":{:.6g}%{}", compression.share * 100,
                            compression.selection == Selection::sampled ? ":sampled" : "");
    return name;
}

std::vector<Compression> parse_compressions(std::string_view text) {
    std::vector<Compression> all;
    for (const std::string_view part : split(text, ',')) {
        const Compression one = parse_compression(part);
        if (one.kind != Kind::none && std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
    return all;
}

}  // namespace tutti
