// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/block_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/collective_form.hpp"
#include "base/index.hpp"
#include "base/name_table.hpp"
#include "base/source.hpp"
#include "workloads/check/check_values.hpp"

namespace tutti {
namespace {

using Shape = BlockRule::Shape;

constexpr Named<Shape> shapes[] = {
    {Shape::uniform, "uniform"}, {Shape::skewed, "skewed"}, {Shape::one_giant, "one-giant"},
    {Shape::zeros, "zeros"},     {Shape::next, "next"},     {Shape::random, "random"},
};

constexpr std::string_view random_with_seed = "random:";
constexpr std::int64_t giant = 100;

std::int64_t random_weight(std::uint64_t seed, std::int64_t block) {
    const std::uint64_t drawn = check_data::Noise{seed}.at(block);
    const auto most = drawn >> 60 & 1 ? std::uint64_t{1000} : std::uint64_t{8};
    return drawn >> 62 == 0 ? 0 : 1 + static_cast<std::int64_t>((drawn >> 32 & 0xffff) % most);
}

// Returns the share of a block: number `block` of all, for the pair or rank `row`, `column`.
std::int64_t weight_of(const BlockRule& rule, std::int64_t block, std::int64_t row,
                       std::int64_t column, int ranks) {
    constexpr std::int64_t largest = 1 << 20;
    switch (rule.shape) {
        case Shape::uniform:
            return 1;
        case Shape::skewed:
            return largest / (1 + (row + column) % ranks);
        case Shape::one_giant:
            return block == 1 ? giant : 1;
        case Shape::zeros:
            return (row + column) % 2;
        case Shape::next:
            return column == (row + 1) % ranks ? 1 : 0;
        case Shape::random:
            return random_weight(rule.seed, block);
        case Shape::given:
            return at(rule.counts, block);
    }
    return 1;
}

// Divides the total by weights, so that the parts add up to it.
std::vector<std::int64_t> in_proportion(const std::vector<std::int64_t>& weights,
                                        std::int64_t total) {
    __extension__ using Wide = __int128;
    const Wide all = std::accumulate(weights.begin(), weights.end(), Wide{0});
    std::vector<std::int64_t> parts;
    Wide before = 0;
    std::int64_t given = 0;
    for (const std::int64_t weight : weights) {
        before += weight;
        const auto end = all == 0 ? 0 : static_cast<std::int64_t>(before * total / all);
        parts.push_back(end - given);
        given = end;
    }
    return parts;
}

}  // namespace

BlockRule parse_block_rule(const std::string& text) {
    if (text.starts_with(random_with_seed)) {
        const auto seed = number_in<std::uint64_t>(text.substr(random_with_seed.size()));
        if (!seed)
            throw Error(fmt::format("'{}' has no seed; use a number, for example random:1", text));
        return {.shape = Shape::random, .seed = *seed, .counts = {}, .name = text};
    }
    const Shape shape = parse_from(shapes, "rule for the lengths of blocks", text);
    return {.shape = shape, .counts = {}, .name = text};
}

std::string names_of_block_rules() {
    std::string names;
    for (const auto& row : shapes)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    return names + ":SEED";
}

std::vector<std::int64_t> block_counts(const BlockRule& rule, Collective collective, int ranks,
                                       std::optional<std::int64_t> average) {
    const std::int64_t blocks = CollectiveSpec{collective, ranks}.blocks();
    const bool is_of_pairs = blocks > ranks;
    if (rule.shape == Shape::given) {
        if (std::ssize(rule.counts) != blocks)
            throw Error(fmt::format(
                "{} has {} counts, but {} on {} ranks has {} blocks; use a file with {}", rule.name,
                rule.counts.size(), name_of(CollectiveForm{collective, true}), ranks, blocks,
                is_of_pairs ? fmt::format("{} rows of {} counts", ranks, ranks)
                            : fmt::format("one row of {} counts", ranks)));
        if (!average) return rule.counts;
    }
    std::vector<std::int64_t> weights;
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t row = is_of_pairs ? block / ranks : 0, column = block % ranks;
        weights.push_back(weight_of(rule, block, row, column, ranks));
    }
    const bool are_all_empty = std::ranges::count(weights, 0) == blocks;
    if (are_all_empty && rule.shape != Shape::given) weights.assign(weights.size(), 1);
    return in_proportion(weights, average.value_or(0) * blocks);
}

std::optional<std::string> refuses_in_place(const Call& call, int ranks) {
    if (call.lengths == nullptr || call.collective != Collective::all_to_all) return std::nullopt;
    for (std::int64_t from = 0; from < ranks; ++from)
        for (std::int64_t to = 0; to < from; ++to)
            if (call.lengths->of(from * ranks + to) != call.lengths->of(to * ranks + from))
                return fmt::format(
                    "in place, ranks {} and {} need blocks of one length for each other", to, from);
    return std::nullopt;
}

}  // namespace tutti
