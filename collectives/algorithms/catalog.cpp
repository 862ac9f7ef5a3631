// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Line 1 of two that a new algorithm adds here: that it exists.
Schedule ring_scatter(int ranks, Rank root);
Schedule ring_broadcast(int ranks, Rank root);
Schedule ring_all_to_all(int ranks);
Schedule chain_reduce(int ranks, Rank root);
Schedule chain_all_reduce(int ranks);
Schedule tree_all_reduce(int ranks, int radix);
Schedule tree_all_gather(int ranks, int radix);
Schedule tree_reduce_scatter(int ranks, int radix);
Schedule butterfly_all_gather(int ranks);
Schedule butterfly_reduce_scatter(int ranks);
Schedule halving_doubling_all_reduce(int ranks);
Schedule butterfly_scatter(int ranks, Rank root);
Schedule butterfly_gather(int ranks, Rank root);
Schedule butterfly_broadcast(int ranks, Rank root);
Schedule butterfly_reduce(int ranks, Rank root);
Schedule butterfly_all_to_all(int ranks);  // ranks a power of two
Schedule round_robin_all_gather(int ranks);
Schedule round_robin_reduce_scatter(int ranks);
Schedule round_robin_all_reduce(int ranks);
Schedule round_robin_scatter(int ranks, Rank root);
Schedule round_robin_gather(int ranks, Rank root);
Schedule round_robin_broadcast(int ranks, Rank root);
Schedule round_robin_reduce(int ranks, Rank root);
Schedule round_robin_all_to_all(int ranks);
Schedule linear_broadcast(int ranks, Rank root);
Schedule linear_reduce(int ranks, Rank root);
Schedule linear_scatter(int ranks, Rank root);
Schedule linear_gather(int ranks, Rank root);
Schedule linear_all_reduce(int ranks);
Schedule linear_all_gather(int ranks);
Schedule linear_reduce_scatter(int ranks);
Schedule linear_all_to_all(int ranks);
Schedule one_shot_all_reduce(int ranks);
Schedule one_shot_reduce_scatter(int ranks);
Schedule one_shot_all_gather(int ranks);
Schedule two_shot_all_reduce(int ranks);
Schedule bruck_all_gather(int ranks, int radix);
Schedule bruck_all_to_all(int ranks, int radix);
Schedule circulant_all_gather(int ranks, int radix);
Schedule circulant_reduce_scatter(int ranks, int radix);
Schedule circulant_all_reduce(int ranks, int radix);
Schedule double_tree_broadcast(int ranks, Rank root);
Schedule double_tree_reduce(int ranks, Rank root);
Schedule double_tree_all_reduce(int ranks);
Schedule levels_all_reduce(int ranks, const Nesting& nesting, const Builder& among_leaders);
Schedule levels_broadcast(int ranks, Rank root, const Nesting& nesting);
Schedule levels_reduce(int ranks, Rank root, const Nesting& nesting);
Schedule levels_scatter(int ranks, Rank root, const Nesting& nesting);
Schedule levels_gather(int ranks, Rank root, const Nesting& nesting);
Schedule levels_all_gather(int ranks, const Nesting& nesting);
Schedule levels_reduce_scatter(int ranks, const Nesting& nesting);
Schedule multi_rail_all_reduce(int ranks, const Placement& placement);
Schedule multi_rail_broadcast(int ranks, Rank root, const Placement& placement);
Schedule multi_rail_reduce(int ranks, Rank root, const Placement& placement);
Schedule multi_rail_all_gather(int ranks, const Placement& placement);
Schedule multi_rail_reduce_scatter(int ranks, const Placement& placement);

namespace {

std::optional<std::string> power_of_two(const Job& job) {
    if (std::has_single_bit(static_cast<unsigned>(job.ranks))) return std::nullopt;
    return "it needs a power of two, not " + std::to_string(job.ranks) +
           " ranks; take bruck or round-robin";
}

Placement placed(const Job& job) {
    return job.placement.nodes().empty() ? Placement::one_node(job.ranks) : job.placement;
}

Nesting by_node(const Job& job) { return {placed(job).nodes()}; }
Nesting by_island(const Job& job) { return {placed(job).islands(), placed(job).nodes()}; }

int radix_of(const Job& job) {
    if (job.radix == 0) return default_radix;
    if (job.radix >= 2 && job.radix <= most_radix) return job.radix;
    throw Error(fmt::format("radix {} is out of range; type 2 .. {}", job.radix, most_radix));
}

Builder butterfly_of(const Job& job) {
    return [radix = radix_of(job)](int ranks) { return butterfly_all_reduce(ranks, radix); };
}

using enum Collective;

// Line 2: its row.
// clang-format off
const Algorithm rows[] = {
    {all_reduce, "ring", "every chunk goes round the ring, gathering shares, then once more as the result",
     [](const Job& j) { return ring_all_reduce(j.ranks); }},
    {all_reduce, "tree", "up a tree of the radix (2: binomial), down the same",
     [](const Job& j) { return tree_all_reduce(j.ranks, radix_of(j)); }, Takes::radix},
    {all_reduce, "butterfly", "whole vectors added across ever wider groups of the radix (2: recursive doubling)",
     [](const Job& j) { return butterfly_all_reduce(j.ranks, radix_of(j)); }, Takes::radix},
    {all_reduce, "round-robin", "each rank owns a chunk and serves every other rank in turn",
     [](const Job& j) { return round_robin_all_reduce(j.ranks); }},
    {all_reduce, "linear", "everyone sends to rank 0, which adds up and tells all: the central server",
     [](const Job& j) { return linear_all_reduce(j.ranks); }},
    {all_reduce, "halving-doubling", "halves are exchanged and added, then gathered again (Rabenseifner)",
     [](const Job& j) { return halving_doubling_all_reduce(j.ranks); }},
    {all_reduce, "double-tree", "two trees carry half of the message each, in segments",
     [](const Job& j) { return double_tree_all_reduce(j.ranks); }, Takes::segments},
    {all_reduce, "chain", "up and down a line of ranks, in segments",
     [](const Job& j) { return chain_all_reduce(j.ranks); }, Takes::segments},
    {all_reduce, "circulant", "optimal steps and bytes for any rank count (Traeff)",
     [](const Job& j) { return circulant_all_reduce(j.ranks, radix_of(j)); }, Takes::radix},
    {all_reduce, "one-shot", "every rank reads all vectors and adds them up itself",
     [](const Job& j) { return one_shot_all_reduce(j.ranks); }},
    {all_reduce, "two-shot", "each rank adds up one chunk for all, then all fetch the results",
     [](const Job& j) { return two_shot_all_reduce(j.ranks); }},
    {all_reduce, "two-level", "inside each node, then a ring across nodes, then inside again",
     [](const Job& j) { return levels_all_reduce(j.ranks, by_node(j), ring_all_reduce); }, Takes::segments | Takes::placement},
    {all_reduce, "two-level-butterfly", "as two-level, with whole vectors added across ever wider groups of nodes, as butterfly",
     [](const Job& j) { return levels_all_reduce(j.ranks, by_node(j), butterfly_of(j)); }, Takes::segments | Takes::placement | Takes::radix},
    {all_reduce, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_all_reduce(j.ranks, by_island(j), ring_all_reduce); }, Takes::segments | Takes::placement},
    {all_reduce, "multi-rail", "every rank of a node all-reduces a share of the message across nodes",
     [](const Job& j) { return multi_rail_all_reduce(j.ranks, placed(j)); }, Takes::segments | Takes::placement},
    {all_gather, "ring", "every block goes once round the ring",
     [](const Job& j) { return ring_all_gather(j.ranks); }},
    {all_gather, "tree", "up a tree of the radix (2: binomial) to rank 0, down as one message",
     [](const Job& j) { return tree_all_gather(j.ranks, radix_of(j)); }, Takes::radix},
    {all_gather, "butterfly", "pairs exchange all that they know, which doubles at each step",
     [](const Job& j) { return butterfly_all_gather(j.ranks); }},
    {all_gather, "round-robin", "everyone serves every other rank in turn",
     [](const Job& j) { return round_robin_all_gather(j.ranks); }},
    {all_gather, "linear", "rank 0 collects from all and tells all",
     [](const Job& j) { return linear_all_gather(j.ranks); }},
    {all_gather, "bruck", "known blocks multiply by the radix round the circle, for any rank count",
     [](const Job& j) { return bruck_all_gather(j.ranks, radix_of(j)); }, Takes::radix},
    {all_gather, "circulant", "as bruck, with evenly parted steps",
     [](const Job& j) { return circulant_all_gather(j.ranks, radix_of(j)); }, Takes::radix},
    {all_gather, "one-shot", "everyone to everyone at once",
     [](const Job& j) { return one_shot_all_gather(j.ranks); }},
    {all_gather, "two-level", "gather in each node, a ring across nodes, broadcast in each node",
     [](const Job& j) { return levels_all_gather(j.ranks, by_node(j)); }, Takes::segments | Takes::placement},
    {all_gather, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_all_gather(j.ranks, by_island(j)); }, Takes::segments | Takes::placement},
    {all_gather, "multi-rail", "every rank of a node gathers across nodes, then tells its node",
     [](const Job& j) { return multi_rail_all_gather(j.ranks, placed(j)); }, Takes::segments | Takes::placement},
    {reduce_scatter, "ring", "every chunk comes home round the ring, gathering shares",
     [](const Job& j) { return ring_reduce_scatter(j.ranks); }},
    {reduce_scatter, "tree", "up a tree of the radix (2: binomial) to rank 0, which deals the blocks out again",
     [](const Job& j) { return tree_reduce_scatter(j.ranks, radix_of(j)); }, Takes::radix},
    {reduce_scatter, "butterfly", "halves exchanged and added across ever narrower pairs (recursive halving)",
     [](const Job& j) { return butterfly_reduce_scatter(j.ranks); }},
    {reduce_scatter, "round-robin", "each rank hears from every other in turn",
     [](const Job& j) { return round_robin_reduce_scatter(j.ranks); }},
    {reduce_scatter, "linear", "rank 0 adds everything up and deals the blocks out",
     [](const Job& j) { return linear_reduce_scatter(j.ranks); }},
    {reduce_scatter, "circulant", "optimal steps and bytes for any rank count (Traeff)",
     [](const Job& j) { return circulant_reduce_scatter(j.ranks, radix_of(j)); }, Takes::radix},
    {reduce_scatter, "one-shot", "every rank reads all shares of its own block at once",
     [](const Job& j) { return one_shot_reduce_scatter(j.ranks); }},
    {reduce_scatter, "two-level", "add up in each node, a ring across nodes, scatter in each node",
     [](const Job& j) { return levels_reduce_scatter(j.ranks, by_node(j)); }, Takes::segments | Takes::placement},
    {reduce_scatter, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_reduce_scatter(j.ranks, by_island(j)); }, Takes::segments | Takes::placement},
    {reduce_scatter, "multi-rail", "added up in each node, then by every rank of a node across nodes",
     [](const Job& j) { return multi_rail_reduce_scatter(j.ranks, placed(j)); }, Takes::segments | Takes::placement},
    {broadcast, "ring", "the message follows itself round the ring in P pieces",
     [](const Job& j) { return ring_broadcast(j.ranks, j.root); }},
    {broadcast, "tree", "the informed multiply by the radix at each step (2: binomial tree)",
     [](const Job& j) { return tree_broadcast(j.ranks, j.root, radix_of(j)); }, Takes::radix},
    {broadcast, "butterfly", "scatter by halving, all-gather by doubling (van de Geijn)",
     [](const Job& j) { return butterfly_broadcast(j.ranks, j.root); }},
    {broadcast, "round-robin", "the root deals chunks in turn, then everyone serves everyone",
     [](const Job& j) { return round_robin_broadcast(j.ranks, j.root); }},
    {broadcast, "linear", "the root tells everyone itself",
     [](const Job& j) { return linear_broadcast(j.ranks, j.root); }},
    {broadcast, "double-tree", "two trees carry half of the message each, in segments",
     [](const Job& j) { return double_tree_broadcast(j.ranks, j.root); }, Takes::segments},
    {broadcast, "chain", "from rank to rank in segments",
     [](const Job& j) { return chain_broadcast(j.ranks, j.root); }, Takes::segments},
    {broadcast, "two-level", "across one leader per node, then inside each node",
     [](const Job& j) { return levels_broadcast(j.ranks, j.root, by_node(j)); }, Takes::segments | Takes::placement},
    {broadcast, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_broadcast(j.ranks, j.root, by_island(j)); }, Takes::segments | Takes::placement},
    {broadcast, "multi-rail", "every rank of a node passes on a share of the message, then tells its node",
     [](const Job& j) { return multi_rail_broadcast(j.ranks, j.root, placed(j)); }, Takes::segments | Takes::placement},
    {reduce, "ring", "pieces follow one another round the ring to the root, gathering shares",
     [](const Job& j) { return mirrored(ring_broadcast(j.ranks, j.root), Action::reduce); }},
    {reduce, "tree", "partial sums of as many as the radix merge until the root has all (2: binomial tree)",
     [](const Job& j) { return tree_reduce(j.ranks, j.root, radix_of(j)); }, Takes::radix},
    {reduce, "butterfly", "reduce-scatter by halving, then gather (Rabenseifner)",
     [](const Job& j) { return butterfly_reduce(j.ranks, j.root); }},
    {reduce, "round-robin", "each rank adds up one chunk in turn, the root collects",
     [](const Job& j) { return round_robin_reduce(j.ranks, j.root); }},
    {reduce, "linear", "everyone sends to the root, which adds up",
     [](const Job& j) { return linear_reduce(j.ranks, j.root); }},
    {reduce, "double-tree", "two trees carry half of the message each, in segments",
     [](const Job& j) { return double_tree_reduce(j.ranks, j.root); }, Takes::segments},
    {reduce, "chain", "the sum grows from rank to rank in segments",
     [](const Job& j) { return chain_reduce(j.ranks, j.root); }, Takes::segments},
    {reduce, "two-level", "inside each node, then across their leaders",
     [](const Job& j) { return levels_reduce(j.ranks, j.root, by_node(j)); }, Takes::segments | Takes::placement},
    {reduce, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_reduce(j.ranks, j.root, by_island(j)); }, Takes::segments | Takes::placement},
    {reduce, "multi-rail", "every rank of a node adds up a share of the message on its way to the root",
     [](const Job& j) { return multi_rail_reduce(j.ranks, j.root, placed(j)); }, Takes::segments | Takes::placement},
    {scatter, "ring", "blocks are passed on round the ring, the farthest first",
     [](const Job& j) { return ring_scatter(j.ranks, j.root); }},
    {scatter, "tree", "blocks parted by the radix, again and again (2: binomial tree)",
     [](const Job& j) { return tree_scatter(j.ranks, j.root, radix_of(j)); }, Takes::radix},
    {scatter, "butterfly", "the other half of the range to the rank opposite",
     [](const Job& j) { return butterfly_scatter(j.ranks, j.root); }},
    {scatter, "round-robin", "the root serves one rank after the other",
     [](const Job& j) { return round_robin_scatter(j.ranks, j.root); }},
    {scatter, "linear", "the root serves all at once",
     [](const Job& j) { return linear_scatter(j.ranks, j.root); }},
    {scatter, "two-level", "to one leader per node, which deals inside its node",
     [](const Job& j) { return levels_scatter(j.ranks, j.root, by_node(j)); }, Takes::placement},
    {scatter, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_scatter(j.ranks, j.root, by_island(j)); }, Takes::placement},
    {gather, "ring", "blocks are passed on round the ring to the root",
     [](const Job& j) { return mirrored(ring_scatter(j.ranks, j.root), Action::copy); }},
    {gather, "tree", "collections multiply by the radix on their way to the root (2: binomial tree)",
     [](const Job& j) { return tree_gather(j.ranks, j.root, radix_of(j)); }, Takes::radix},
    {gather, "butterfly", "each half of a range goes to the rank opposite",
     [](const Job& j) { return butterfly_gather(j.ranks, j.root); }},
    {gather, "round-robin", "the root collects from one rank after the other",
     [](const Job& j) { return round_robin_gather(j.ranks, j.root); }},
    {gather, "linear", "the root collects from all at once",
     [](const Job& j) { return linear_gather(j.ranks, j.root); }},
    {gather, "two-level", "to one leader per node, then to the root",
     [](const Job& j) { return levels_gather(j.ranks, j.root, by_node(j)); }, Takes::placement},
    {gather, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     [](const Job& j) { return levels_gather(j.ranks, j.root, by_island(j)); }, Takes::placement},
    {all_to_all, "ring", "blocks hop along the ring to their receiver",
     [](const Job& j) { return ring_all_to_all(j.ranks); }},
    {all_to_all, "butterfly", "partners across each bit swap half of their blocks (hypercube)",
     [](const Job& j) { return butterfly_all_to_all(j.ranks); }, power_of_two},
    {all_to_all, "round-robin", "everyone serves every other rank in turn (pairwise exchange)",
     [](const Job& j) { return round_robin_all_to_all(j.ranks); }},
    {all_to_all, "linear", "everyone to everyone at once",
     [](const Job& j) { return linear_all_to_all(j.ranks); }},
    {all_to_all, "bruck", "a block jumps by the digits of its distance, to the base of the radix",
     [](const Job& j) { return bruck_all_to_all(j.ranks, radix_of(j)); }, Takes::radix},
};
// clang-format on

}  // namespace

std::span<const Algorithm> catalog() { return rows; }

// Pipelined here and nowhere else; what an algorithm does to a segment it does to all.
Schedule Algorithm::build(const Job& job) const {
    const Schedule whole = build_unsegmented_(job);
    return pipelines ? pipelined(whole, job.segments) : whole;
}

Schedule build_in_order(const Algorithm& algorithm, const Job& job) {
    if (job.order.channels.empty()) return algorithm.build(job);
    std::vector<Schedule> channels;
    for (const auto& channel : job.order.channels) {
        Job of_positions = job;
        if (!job.placement.nodes().empty()) of_positions.placement = job.placement.renamed(channel);
        const auto root = std::ranges::find(channel, job.root);
        of_positions.root = Rank{static_cast<int>(root - channel.begin())};
        channels.push_back(reordered(algorithm.build(of_positions), channel, job.collective));
    }
    if (channels.size() == 1) return channels.front();
    const auto blocks = CollectiveSpec{job.collective, job.ranks}.blocks();
    return side_by_side(channels, static_cast<int>(blocks));
}

std::vector<const Algorithm*> algorithms_of(Collective collective) {
    std::vector<const Algorithm*> found;
    for (const Algorithm& row : rows)
        if (row.collective == collective) found.push_back(&row);
    return found;
}

const Algorithm* algorithm_called(Collective collective, std::string_view name) {
    for (const Algorithm& row : rows)
        if (row.collective == collective && row.name == name) return &row;
    return nullptr;
}

const Algorithm& find_algorithm(Collective collective, std::string_view name) {
    if (const Algorithm* row = algorithm_called(collective, name)) return *row;
    std::vector<std::string> known, has_it;
    for (const Algorithm& row : rows) {
        if (row.collective == collective) known.emplace_back(row.name);
        if (row.name == name) has_it.emplace_back(name_of(row.collective));
    }
    if (has_it.empty())
        throw Error(unknown_name(std::string(name_of(collective)) + " algorithm", name, known));
    std::string text = "algorithm '" + std::string(name) + "' cannot do " +
                       std::string(name_of(collective)) + ", only";
    for (const auto& collective_name : has_it) text += " " + collective_name;
    text += "; for " + std::string(name_of(collective)) + " take one of:";
    for (const auto& algorithm : known) text += " " + algorithm;
    throw Error(text);
}

}  // namespace tutti
