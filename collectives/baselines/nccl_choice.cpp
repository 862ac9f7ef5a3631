// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/nccl_choice.hpp"

#include <fmt/format.h>

#include "base/source.hpp"

namespace tutti {
namespace {

constexpr std::int8_t collnet_direct = 2, collnet_chain = 3, nvls = 4;

// Removes the longest of these names, and the hyphen after it, from the beginning of `rest`.
// Returns its number, or by_nccl if no name is there.
template <std::size_t size>
std::int8_t take_name(const Named<std::int8_t> (&names)[size], std::string_view& rest) {
    const Named<std::int8_t>* longest = nullptr;
    for (const auto& row : names) {
        const bool is_there = rest.starts_with(row.name) &&
                              (rest.size() == row.name.size() || rest[row.name.size()] == '-');
        if (is_there && (longest == nullptr || row.name.size() > longest->name.size()))
            longest = &row;
    }
    if (longest == nullptr) return NcclChoice::by_nccl;
    rest.remove_prefix(std::min(rest.size(), longest->name.size() + 1));
    return longest->value;
}

}  // namespace

// From NCCL's scheduleCollTasksToPlan: it treats NVLS on several hosts like CollNet.
bool limits_channels(const NcclChoice& choice, int hosts) {
    if (choice.algorithm == collnet_direct || choice.algorithm == collnet_chain) return false;
    return choice.algorithm != nvls || hosts == 1;
}

NcclChoice parse_nccl_choice(std::string_view text) {
    std::string_view rest = text;
    NcclChoice choice;
    choice.algorithm = take_name(nccl_algorithms, rest);
    if (choice.is_default())
        throw Error(unknown_name("algorithm of NCCL", text, names_of(nccl_algorithms)));
    choice.protocol = take_name(nccl_protocols, rest);
    if (rest.empty() && !text.ends_with('-')) return choice;
    const auto channels = number_in<std::int16_t>(rest);
    if (!channels || *channels < 1 || *channels > NcclChoice::most_channels)
        throw Error(fmt::format(
            "{} is not an algorithm of NCCL; use ALGORITHM-PROTOCOL-CHANNELS with a protocol of "
            "ll, ll128 or simple and 1 to {} channels, for example tree-ll128-4",
            in_quotes(text), NcclChoice::most_channels));
    choice.channels = *channels;
    return choice;
}

std::string to_string(const NcclChoice& choice) {
    if (choice.is_default()) return "default";
    std::string text(name_in(nccl_algorithms, choice.algorithm));
    if (choice.protocol != NcclChoice::by_nccl)
        text += fmt::format("-{}", name_in(nccl_protocols, choice.protocol));
    if (choice.channels != 0) text += fmt::format("-{}", choice.channels);
    return text;
}

}  // namespace tutti
