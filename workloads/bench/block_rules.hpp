// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/execute/plan/layout.hpp"

namespace tutti {

/// How the elements of a call are divided among its blocks. Block b of one block per rank, or the
/// block from rank i to rank j of one per pair, gets a share of all elements:
/// * uniform: all blocks are equal.
/// * skewed: 1, 1/2, 1/3, ... for b or (i + j) mod P, so that all ranks send equally much.
/// * one_giant: block 1 is 100 times as long as each other one.
/// * zeros: blocks with an even b or i + j are empty, the others are equal.
/// * next: only the blocks from each rank to the next one have elements, as of a ring of sends and
///   receives. Of blocks per rank, only block 1.
/// * random: a quarter of the blocks are empty, and the others differ by a factor of up to 1000.
/// * given: the counts of a file.
///
/// If a rule other than the last leaves nothing but empty blocks, they are equal instead.
struct BlockRule {
    enum class Shape { uniform, skewed, one_giant, zeros, next, random, given };

    Shape shape = Shape::uniform;
    std::uint64_t seed = 0;            ///< of `random`
    std::vector<std::int64_t> counts;  ///< of `given`, in the order of CollectiveSpec
    std::string name = "uniform";      ///< as typed, for records
};

/// Parses "skewed" or "random:7". Throws Error with the known rules.
BlockRule parse_block_rule(const std::string& text);

/// Returns the rules that a word names, for help: "uniform|skewed|...|random:SEED".
std::string names_of_block_rules();

/// Returns the elements of each block, in the order of CollectiveSpec. Their sum is `average` for
/// each block; without an average, given counts stay as they are. Throws Error if the given counts
/// do not fit the ranks.
std::vector<std::int64_t> block_counts(const BlockRule& rule, Collective collective, int ranks,
                                       std::optional<std::int64_t> average);

/// Returns why the call cannot run in place: a rank of an all_to_all_v replaces the block for a
/// peer by the one from that peer, so both need the same length.
std::optional<std::string> refuses_in_place(const Call& call, int ranks);

}  // namespace tutti
