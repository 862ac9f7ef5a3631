// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// A new algorithm adds two lines here. The first one declares it.
Schedule ring_broadcast(int ranks, Rank root);
Schedule scatter_ring_broadcast(int ranks, Rank root);
Schedule ring_all_to_all(int ranks);
Schedule chain_reduce(int ranks, Rank root);
Schedule chain_all_reduce(int ranks);
Schedule tree_all_gather(int ranks, int radix);
Schedule tree_reduce_scatter(int ranks, int radix);
Schedule butterfly_all_gather(int ranks);
Schedule butterfly_reduce_scatter(int ranks);
Schedule halving_doubling_all_reduce(int ranks);
Schedule partial_halving_all_reduce(int ranks, int radix);
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
Schedule linear_reduce(int ranks, Rank root);
Schedule linear_gather(int ranks, Rank root);
Schedule linear_all_reduce(int ranks);
Schedule linear_all_gather(int ranks);
Schedule linear_reduce_scatter(int ranks);
Schedule linear_all_to_all(int ranks);
Schedule one_shot_reduce_scatter(int ranks);
Schedule two_shot_all_reduce(int ranks);
Schedule bruck_all_to_all(int ranks, int radix);
Schedule circulant_all_gather(int ranks, int radix);
Schedule circulant_reduce_scatter(int ranks, int radix);
Schedule circulant_all_reduce(int ranks, int radix);
Schedule circulant_broadcast(int ranks, Rank root, int blocks);
Schedule circulant_reduce(int ranks, Rank root, int blocks);
Schedule double_tree_broadcast(int ranks, Rank root);
Schedule double_tree_reduce(int ranks, Rank root);
Schedule double_tree_all_reduce(int ranks);
Schedule bine_broadcast(int ranks, Rank root);  // ranks a power of two, as for bine_reduce
Schedule bine_reduce(int ranks, Rank root);
Schedule bine_all_reduce(int ranks);  // an even number of ranks, as for the next two
Schedule bine_all_gather(int ranks);
Schedule bine_reduce_scatter(int ranks);
Schedule postal_broadcast(int ranks, Rank root, int radix);
Schedule postal_reduce(int ranks, Rank root, int radix);
Schedule k_ary_tree_broadcast(int ranks, Rank root, int radix);
Schedule k_ary_tree_reduce(int ranks, Rank root, int radix);
Schedule dual_root_all_reduce(int ranks, int radix);
Schedule bucket_all_reduce(int ranks, int radix);
Schedule bucket_all_gather(int ranks, int radix);
Schedule bucket_reduce_scatter(int ranks, int radix);
Schedule trivance_all_reduce(int ranks);
Schedule trivance_all_gather(int ranks);
Schedule trivance_reduce_scatter(int ranks);
Schedule sparbit_all_gather(int ranks);
Schedule sparbit_reduce_scatter(int ranks);
Schedule pat_all_gather(int ranks, int radix);
Schedule pat_reduce_scatter(int ranks, int radix);
Schedule dissemination_barrier(int ranks, int radix);
Schedule doubling_scan(int ranks, int radix);
Schedule tree_scan(int ranks, int radix);
Schedule chain_scan(int ranks);
Schedule one_shot_scan(int ranks);
Schedule doubling_exscan(int ranks, int radix);
Schedule tree_exscan(int ranks, int radix);
Schedule chain_exscan(int ranks);
Schedule one_shot_exscan(int ranks);
Schedule locality_bruck_all_gather(int ranks, const Placement& placement);
Schedule levels_all_reduce(int ranks, const LevelPlan& plan);
Schedule levels_broadcast(int ranks, Rank root, const LevelPlan& plan);
Schedule levels_reduce(int ranks, Rank root, const LevelPlan& plan);
Schedule levels_scatter(int ranks, Rank root, const LevelPlan& plan);
Schedule levels_gather(int ranks, Rank root, const LevelPlan& plan);
Schedule levels_all_gather(int ranks, const LevelPlan& plan);
Schedule levels_reduce_scatter(int ranks, const LevelPlan& plan);
Schedule levels_summed_reduce_scatter(int ranks, const LevelPlan& plan);
Schedule multi_rail_reduce(int ranks, Rank root, const Placement& placement);
Schedule multi_rail_reduce_scatter(int ranks, const Placement& placement);
Schedule multi_rail_scatter(int ranks, Rank root, const Placement& placement);
Schedule multi_rail_gather(int ranks, Rank root, const Placement& placement);
Schedule multi_rail_all_to_all(int ranks, const Placement& placement);
Schedule two_level_all_to_all(int ranks, const Placement& placement);

namespace {

// An all-to-all has a chunk for each pair of ranks, and chunks are counted in int.
std::optional<std::string> pairs_in_int(const Job& job) {
    constexpr int most = 46'340;
    if (job.ranks <= most) return std::nullopt;
    return fmt::format("all_to_all supports up to {} ranks, not {}", most, job.ranks);
}

std::optional<std::string> power_of_two(const Job& job) {
    if (std::has_single_bit(static_cast<unsigned>(job.ranks))) return std::nullopt;
    return fmt::format("it needs a power of two, not {} ranks; use ring or round-robin", job.ranks);
}

std::optional<std::string> even_ranks(const Job& job) {
    if (job.ranks % 2 == 0) return std::nullopt;
    return fmt::format("it needs an even number, not {} ranks; use ring", job.ranks);
}

std::optional<std::string> pairs_by_bits(const Job& job) {
    const auto refusal = pairs_in_int(job);
    return refusal ? refusal : power_of_two(job);
}

Placement placed(const Job& job) {
    return job.placement.nodes().empty() ? Placement::one_node(job.ranks) : job.placement;
}

// Returns the groups of the chosen levels without those that divide nothing more: groups of one
// rank, those of a smaller level once more, and one of all ranks.
Nesting by_levels(const Job& job) {
    const Placement placement = placed(job);
    Nesting nesting;
    for (const Level level : all_levels) {
        const int chosen = job.configuration.levels;
        if (chosen != 0 && (chosen >> as_size(level) & 1) == 0) continue;
        const Grouping& groups = placement.groups(level);
        if (groups.size() > 1 && int_size(groups) < job.ranks &&
            (nesting.empty() || groups != nesting.back()))
            nesting.push_back(groups);
    }
    return nesting;
}

// `levels` over a larger level than the named one would be another algorithm.
std::optional<std::string> unknown_levels(const Job& job) {
    if (job.configuration.levels == 0) return std::nullopt;
    const Placement placement = placed(job);
    std::string unknown;
    for (const Level level : all_levels)
        if ((job.configuration.levels >> as_size(level) & 1) != 0 &&
            std::ranges::find(placement.levels(), level, &PlacementLevel::level) ==
                placement.levels().end())
            unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", name_of(level));
    if (unknown.empty()) return std::nullopt;
    return fmt::format(
        "the ranks' levels ({}) are not known; let the launcher bind ranks to cores, use --levels "
        "host, or name levels by --placement where that is possible",
        unknown);
}

Nesting by_node(const Job& job) { return {placed(job).nodes()}; }
Nesting by_island(const Job& job) { return {placed(job).islands(), placed(job).nodes()}; }

int radix_of(const Job& job) {
    const int radix = job.configuration.radix;
    if (radix == 0) return default_radix;
    if (radix >= 2 && radix <= most_radix) return radix;
    throw Error(fmt::format("radix {} is out of range; use 2 .. {}", radix, most_radix));
}

Builder butterfly_of(const Job& job) {
    return [radix = radix_of(job)](int ranks) { return butterfly_all_reduce(ranks, radix); };
}

// Passes to an algorithm the parts of a job that it needs.
Schedule call(Schedule (*build)(int), const Job& j) { return build(j.ranks); }
Schedule call(Schedule (*build)(int, Rank), const Job& j) { return build(j.ranks, j.root); }
Schedule call(Schedule (*build)(int, int radix), const Job& j) {
    return build(j.ranks, radix_of(j));
}
Schedule call(Schedule (*build)(int, Rank, int radix), const Job& j) {
    return build(j.ranks, j.root, radix_of(j));
}
Schedule call(Schedule (*build)(int, const Placement&), const Job& j) {
    return build(j.ranks, placed(j));
}
Schedule call(Schedule (*build)(int, Rank, const Placement&), const Job& j) {
    return build(j.ranks, j.root, placed(j));
}
Schedule call(Schedule (*build)(int, const LevelPlan&), const Job& j, const LevelPlan& plan) {
    return build(j.ranks, plan);
}
Schedule call(Schedule (*build)(int, Rank, const LevelPlan&), const Job& j, const LevelPlan& plan) {
    return build(j.ranks, j.root, plan);
}

// The algorithms of levels that two-level and three-level have: for blocks, trees inside groups.
constexpr int tree_and_trees = 0x11, ring_and_trees = 0x12, butterfly_and_trees = 0x13;
int algorithms_by_name(Collective collective) {
    switch (collective) {
        case Collective::scatter:
        case Collective::gather:
            return tree_and_trees;
        case Collective::all_gather:
        case Collective::reduce_scatter:
            return ring_and_trees;
        default:
            return 0;
    }
}

template <auto build>
Schedule of(const Job& job) {
    return call(build, job);
}
template <auto build>
Schedule in_levels(const Job& job) {
    return call(build, job, {by_levels(job), job.configuration.level_algorithms});
}
template <auto build>
Schedule in_nodes(const Job& job) {
    return call(build, job, {by_node(job), algorithms_by_name(job.collective)});
}
template <auto build>
Schedule in_islands(const Job& job) {
    return call(build, job, {by_island(job), algorithms_by_name(job.collective)});
}

Schedule butterfly_in_nodes(const Job& job) {
    return levels_all_reduce(job.ranks, {by_node(job), 0, butterfly_of(job)});
}
Schedule barrier_in_nodes(const Job& job) {
    const auto among_leaders = [radix = radix_of(job)](int leaders) {
        return dissemination_barrier(leaders, radix);
    };
    return levels_all_reduce(job.ranks, {by_node(job), 0, among_leaders});
}
Schedule barrier_in_levels(const Job& job) {
    return levels_all_reduce(job.ranks, {by_levels(job), butterfly_and_trees});
}

constexpr Takes by_name = Takes::its_name;
constexpr Takes across_nodes = Takes::segments | Takes::placement;
constexpr Takes by_level = Takes::levels | Takes::level_algorithms;
constexpr Takes across_levels = Takes::segments | by_level;

using enum Collective;

// The second line is its row. Rows are never destroyed: a thread may still make a plan when the
// program ends.
const std::vector<Algorithm>& rows = *new std::vector<Algorithm>{
    {all_reduce, "ring", "chunks are summed along the ring, then the sums go around it once more",
     of<ring_all_reduce>},
    {all_reduce, "tree",
     "reduce up a k-nomial tree, then broadcast down it (k: radix; 2: binomial)",
     of<tree_all_reduce>, Takes::radix},
    {all_reduce, "butterfly",
     "whole vectors are added in groups that grow by the radix (2: recursive doubling)",
     of<butterfly_all_reduce>, Takes::radix},
    {all_reduce, "round-robin",
     "each rank sums one chunk, and exchanges with the other ranks one after the other",
     of<round_robin_all_reduce>},
    {all_reduce, "linear", "all ranks send to rank 0, which sends the sum back: a central server",
     of<linear_all_reduce>},
    {all_reduce, "halving-doubling",
     "reduce-scatter by recursive halving, all-gather by recursive doubling (Rabenseifner)",
     of<halving_doubling_all_reduce>},
    {all_reduce, "double-tree", "two trees carry half of the message each, in segments",
     of<double_tree_all_reduce>, Takes::segments},
    {all_reduce, "chain", "reduce along a line of ranks and broadcast back, in segments",
     of<chain_all_reduce>, Takes::segments},
    {all_reduce, "circulant", "optimal steps and bytes for any rank count (Traeff)",
     of<circulant_all_reduce>, Takes::radix},
    {all_reduce, "one-shot", "every rank reads all vectors and sums them itself",
     of<one_shot_all_reduce>},
    {all_reduce, "two-shot", "each rank sums one chunk, then reads the other sums",
     of<two_shot_all_reduce>},
    {all_reduce, "two-level",
     "reduce in each node, a ring across the nodes' leaders, broadcast in each node",
     in_nodes<levels_all_reduce>, across_nodes},
    {all_reduce, "two-level-butterfly", "as two-level, with butterfly in place of the ring",
     butterfly_in_nodes, across_nodes | Takes::radix},
    {all_reduce, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_all_reduce>, by_name | across_nodes},
    {all_reduce, "levels",
     "reduce in each cache, NUMA node, package, host; a ring across hosts; broadcast in each",
     in_levels<levels_all_reduce>, across_levels, unknown_levels},
    {all_reduce, "multi-rail",
     "every rank of a node all-reduces a share of the message across nodes",
     of<multi_rail_all_reduce>, across_nodes},
    {all_reduce, "bine",
     "reduce-scatter and all-gather with partners at short distances (Bine, Swing)",
     of<bine_all_reduce>, by_name, even_ranks},
    {all_reduce, "partial-halving",
     "halving-doubling of the radix's pieces, which are all-reduced as whole vectors",
     of<partial_halving_all_reduce>, by_name | Takes::radix},
    {all_reduce, "dual-root",
     "two k-ary trees of half the ranks each, whose roots exchange sums (Traeff; k: radix)",
     of<dual_root_all_reduce>, Takes::radix | Takes::segments},
    {all_reduce, "bucket", "a ring in each dimension of a grid (radix: the number of dimensions)",
     of<bucket_all_reduce>, by_name | Takes::radix},
    {all_reduce, "trivance", "reduce-scatter and all-gather in both directions, by powers of three",
     of<trivance_all_reduce>, by_name},
    {all_gather, "ring", "every block goes around the ring once", of<ring_all_gather>},
    {all_gather, "tree",
     "gather to rank 0, then broadcast, along a k-nomial tree (k: radix; 2: binomial); no rank "
     "receives its own block",
     of<tree_all_gather>, Takes::radix},
    {all_gather, "butterfly", "pairs exchange all blocks that they have (recursive doubling)",
     of<butterfly_all_gather>},
    {all_gather, "round-robin", "each rank sends its block to the other ranks one after the other",
     of<round_robin_all_gather>},
    {all_gather, "linear", "rank 0 gathers all blocks and sends each rank all but its own",
     of<linear_all_gather>},
    {all_gather, "bruck",
     "the blocks that a rank has multiply by the radix at each step, for any rank count",
     of<bruck_all_gather>, Takes::radix},
    {all_gather, "circulant", "as bruck, with steps that divide the ranks evenly (Traeff)",
     of<circulant_all_gather>, Takes::radix},
    {all_gather, "one-shot", "all ranks send to all ranks in one step", of<one_shot_all_gather>},
    {all_gather, "two-level", "gather in each node, a ring across nodes, broadcast in each node",
     in_nodes<levels_all_gather>, across_nodes},
    {all_gather, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_all_gather>, by_name | across_nodes},
    {all_gather, "levels",
     "collect in groups of each level, a ring across hosts, missing blocks to members",
     in_levels<levels_all_gather>, across_levels, unknown_levels},
    {all_gather, "multi-rail", "every rank of a node gathers across nodes, then sends to its node",
     of<multi_rail_all_gather>, across_nodes},
    {all_gather, "bine", "as butterfly, with partners at shorter distances (Bine, Swing)",
     of<bine_all_gather>, by_name, even_ranks},
    {all_gather, "bucket", "a ring in each dimension of a grid (radix: the number of dimensions)",
     of<bucket_all_gather>, by_name | Takes::radix},
    {all_gather, "trivance", "known blocks triple at each step, from both directions",
     of<trivance_all_gather>, by_name},
    {all_gather, "sparbit", "each block goes down a binomial tree, the farthest jump first",
     of<sparbit_all_gather>, by_name},
    {all_gather, "pat", "as sparbit, with messages of at most radix blocks (NCCL's PAT)",
     of<pat_all_gather>, by_name | Takes::radix},
    {all_gather, "locality-bruck", "bruck across nodes, with all ranks of a node as its ports",
     of<locality_bruck_all_gather>, Takes::placement},
    {reduce_scatter, "ring", "each chunk is summed along the ring and ends at its owner",
     of<ring_reduce_scatter>},
    {reduce_scatter, "tree",
     "reduce to rank 0 up a k-nomial tree, then scatter down it (k: radix; 2: binomial)",
     of<tree_reduce_scatter>, Takes::radix},
    {reduce_scatter, "butterfly",
     "pairs exchange and add halves, then halves of these (recursive halving)",
     of<butterfly_reduce_scatter>},
    {reduce_scatter, "round-robin", "each rank receives from the other ranks one after the other",
     of<round_robin_reduce_scatter>},
    {reduce_scatter, "linear", "all ranks send to rank 0, which scatters the sum",
     of<linear_reduce_scatter>},
    {reduce_scatter, "circulant", "optimal steps and bytes for any rank count (Traeff)",
     of<circulant_reduce_scatter>, Takes::radix},
    {reduce_scatter, "one-shot", "every rank reads its block of all vectors and sums it itself",
     of<one_shot_reduce_scatter>},
    {reduce_scatter, "two-level", "reduce in each node, a ring across nodes, scatter in each node",
     in_nodes<levels_summed_reduce_scatter>, across_nodes},
    {reduce_scatter, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_summed_reduce_scatter>, by_name | across_nodes},
    {reduce_scatter, "levels", "the all_gather of levels backwards",
     in_levels<levels_reduce_scatter>, across_levels, unknown_levels},
    {reduce_scatter, "multi-rail",
     "reduce-scatter in each node, then each rank of a node across nodes",
     of<multi_rail_reduce_scatter>, across_nodes},
    {reduce_scatter, "bine", "as butterfly, with partners at shorter distances (Bine, Swing)",
     of<bine_reduce_scatter>, by_name, even_ranks},
    {reduce_scatter, "bucket",
     "a ring in each dimension of a grid (radix: the number of dimensions)",
     of<bucket_reduce_scatter>, by_name | Takes::radix},
    {reduce_scatter, "trivance", "parts to be summed shrink by three, from both directions",
     of<trivance_reduce_scatter>, by_name},
    {reduce_scatter, "sparbit", "each block is summed up a binomial tree, the farthest jump last",
     of<sparbit_reduce_scatter>, by_name},
    {reduce_scatter, "pat", "as sparbit, with messages of at most radix blocks (NCCL's PAT)",
     of<pat_reduce_scatter>, by_name | Takes::radix},
    {broadcast, "ring", "P pieces of the message follow one another around the ring",
     of<ring_broadcast>},
    {broadcast, "tree",
     "a k-nomial tree: ranks with the message multiply by k at each step (k: radix; 2: binomial)",
     of<tree_broadcast>, Takes::radix},
    {broadcast, "butterfly", "scatter by halving, all-gather by doubling (van de Geijn)",
     of<butterfly_broadcast>},
    {broadcast, "round-robin",
     "the root sends one chunk to each rank, then all ranks exchange chunks",
     of<round_robin_broadcast>},
    {broadcast, "linear", "the root sends to all ranks itself", of<linear_broadcast>},
    {broadcast, "double-tree", "two trees carry half of the message each, in segments",
     of<double_tree_broadcast>, Takes::segments},
    {broadcast, "chain", "from rank to rank, in segments", of<chain_broadcast>, Takes::segments},
    {broadcast, "two-level", "to one leader per node, then inside each node",
     in_nodes<levels_broadcast>, across_nodes},
    {broadcast, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_broadcast>, by_name | across_nodes},
    {broadcast, "levels", "to one leader in each group of each level, the largest first",
     in_levels<levels_broadcast>, across_levels, unknown_levels},
    {broadcast, "multi-rail",
     "every rank of a node forwards a share of the message to the next node, then to its own",
     of<multi_rail_broadcast>, across_nodes},
    {broadcast, "bine", "as tree, over shorter distances (Bine)", of<bine_broadcast>, by_name,
     power_of_two},
    {broadcast, "scatter-ring", "scatter along a binomial tree, all-gather around the ring (MPICH)",
     of<scatter_ring_broadcast>, by_name},
    {broadcast, "k-ary-tree", "a rank forwards each segment to k others (k: radix)",
     of<k_ary_tree_broadcast>, by_name | Takes::radix | Takes::segments},
    {broadcast, "postal",
     "a new rank sends after `radix` steps, others at each step: the fastest tree for that latency",
     of<postal_broadcast>, by_name | Takes::radix},
    {broadcast, "circulant", "segments in the fewest steps for any rank count (Traeff)",
     [](const Job& j) { return circulant_broadcast(j.ranks, j.root, j.segments); },
     by_name | Takes::own_segments},
    {reduce, "ring", "pieces of the message are summed along the ring to the root",
     [](const Job& j) { return mirrored(ring_broadcast(j.ranks, j.root), Action::reduce); }},
    {reduce, "tree", "partial sums merge up a k-nomial tree (k: radix; 2: binomial)",
     of<tree_reduce>, Takes::radix},
    {reduce, "butterfly", "reduce-scatter by halving, then gather (Rabenseifner)",
     of<butterfly_reduce>},
    {reduce, "round-robin", "each rank sums one chunk, then the root collects the chunks",
     of<round_robin_reduce>},
    {reduce, "linear", "all ranks send to the root, which sums", of<linear_reduce>},
    {reduce, "double-tree", "two trees carry half of the message each, in segments",
     of<double_tree_reduce>, Takes::segments},
    {reduce, "chain", "the sum grows from rank to rank, in segments", of<chain_reduce>,
     Takes::segments},
    {reduce, "two-level", "inside each node, then across the nodes' leaders",
     in_nodes<levels_reduce>, across_nodes},
    {reduce, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_reduce>, by_name | across_nodes},
    {reduce, "levels", "the broadcast of levels backwards", in_levels<levels_reduce>, across_levels,
     unknown_levels},
    {reduce, "multi-rail",
     "every rank of a node sums a share of the message on its way to the root",
     of<multi_rail_reduce>, across_nodes},
    {reduce, "bine", "as tree, over shorter distances (Bine)", of<bine_reduce>, by_name,
     power_of_two},
    {reduce, "k-ary-tree", "a rank adds up each segment of k others (k: radix)",
     of<k_ary_tree_reduce>, by_name | Takes::radix | Takes::segments},
    {reduce, "postal", "the broadcast of postal backwards", of<postal_reduce>,
     by_name | Takes::radix},
    {reduce, "circulant", "the broadcast of circulant backwards (Traeff)",
     [](const Job& j) { return circulant_reduce(j.ranks, j.root, j.segments); },
     by_name | Takes::own_segments},
    {scatter, "ring", "blocks travel along the ring, the farthest first", of<ring_scatter>},
    {scatter, "tree",
     "down a k-nomial tree: each step divides the blocks by k (k: radix; 2: binomial)",
     of<tree_scatter>, Takes::radix},
    {scatter, "butterfly",
     "each step sends half of the remaining blocks to the rank half the range away",
     of<butterfly_scatter>},
    {scatter, "round-robin", "the root sends to one rank after the other", of<round_robin_scatter>},
    {scatter, "linear", "the root sends to all ranks in one step", of<linear_scatter>},
    {scatter, "two-level", "to one leader per node, which scatters inside its node",
     in_nodes<levels_scatter>, Takes::placement},
    {scatter, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_scatter>, by_name | Takes::placement},
    {scatter, "levels",
     "to one leader in each group of each level, which distributes the blocks inside",
     in_levels<levels_scatter>, by_level, unknown_levels},
    {scatter, "multi-rail",
     "the ranks of the root's node each send the blocks of a share of the ranks",
     of<multi_rail_scatter>, Takes::placement},
    {gather, "ring", "blocks travel along the ring to the root",
     [](const Job& j) { return mirrored(ring_scatter(j.ranks, j.root), Action::copy); }},
    {gather, "tree",
     "up a k-nomial tree: each step multiplies the blocks by k (k: radix; 2: binomial)",
     of<tree_gather>, Takes::radix},
    {gather, "butterfly",
     "each step sends all blocks of half the range to the rank half the range away",
     of<butterfly_gather>},
    {gather, "round-robin", "the root receives from one rank after the other",
     of<round_robin_gather>},
    {gather, "linear", "the root receives from all ranks in one step", of<linear_gather>},
    {gather, "two-level", "to one leader per node, then to the root", in_nodes<levels_gather>,
     Takes::placement},
    {gather, "three-level", "as two-level, with a level of NUMA nodes inside each node",
     in_islands<levels_gather>, by_name | Takes::placement},
    {gather, "levels", "the scatter of levels backwards", in_levels<levels_gather>, by_level,
     unknown_levels},
    {gather, "multi-rail", "the scatter of multi-rail backwards", of<multi_rail_gather>,
     Takes::placement},
    {all_to_all, "ring", "blocks travel along the ring to their receiver", of<ring_all_to_all>,
     pairs_in_int},
    {all_to_all, "butterfly", "ranks that differ in one bit swap half of their blocks (hypercube)",
     of<butterfly_all_to_all>, pairs_by_bits},
    {all_to_all, "round-robin",
     "each rank sends to the other ranks one after the other (pairwise exchange)",
     of<round_robin_all_to_all>, pairs_in_int},
    {all_to_all, "linear", "all ranks send to all ranks in one step", of<linear_all_to_all>,
     pairs_in_int},
    {all_to_all, "bruck", "blocks jump by the digits of their distance, in the base of the radix",
     of<bruck_all_to_all>, Takes::radix, pairs_in_int},
    {all_to_all, "two-level",
     "to one leader per node, among the leaders, then to the ranks: one message per pair of nodes",
     of<two_level_all_to_all>, Takes::placement, pairs_in_int},
    {all_to_all, "multi-rail",
     "every rank exchanges with one rank of each other node the blocks of both nodes, then sends "
     "them on inside",
     of<multi_rail_all_to_all>, Takes::placement, pairs_in_int},
    {barrier, "dissemination",
     "each rank tells ranks ahead what it knows; the known ranks multiply by the radix",
     of<dissemination_barrier>, Takes::radix},
    {barrier, "tree", "gather up a k-nomial tree, then release down it (k: radix; 2: binomial)",
     of<tree_all_reduce>, Takes::radix},
    {barrier, "butterfly", "groups that grow by the radix tell each other (2: recursive doubling)",
     of<butterfly_all_reduce>, Takes::radix},
    {barrier, "linear", "all ranks tell rank 0, which tells all: a central counter",
     of<linear_all_reduce>},
    {barrier, "one-shot", "all ranks tell all ranks in one step", of<one_shot_all_reduce>},
    {barrier, "two-level", "in each node, then among the nodes' leaders, then in each node",
     barrier_in_nodes, Takes::placement | Takes::radix},
    {barrier, "levels", "up and down the levels, a butterfly across hosts", barrier_in_levels,
     Takes::levels, unknown_levels},
    {scan, "doubling",
     "ranks add the sums of those before them; each spans a number of ranks that grows by the "
     "radix",
     of<doubling_scan>, Takes::radix},
    {scan, "tree", "sums of groups rise up a tree, finished ones come down (radix: group size)",
     of<tree_scan>, Takes::radix},
    {scan, "chain", "the sum grows from rank to rank, in segments", of<chain_scan>,
     Takes::segments},
    {scan, "one-shot", "every rank adds all vectors before it by itself", of<one_shot_scan>},
    {exscan, "doubling", "vectors move on by one rank, then scan by doubling", of<doubling_exscan>,
     Takes::radix},
    {exscan, "tree", "vectors move on by one rank, then scan by tree", of<tree_exscan>,
     Takes::radix},
    {exscan, "chain", "vectors move on by one rank, then scan by chain, in segments",
     of<chain_exscan>, Takes::segments},
    {exscan, "one-shot", "every rank adds all vectors before it by itself", of<one_shot_exscan>},
};

}  // namespace

std::span<const Algorithm> catalog() { return rows; }

// Pipelining is done only here, for all algorithms that treat segments the same way.
Schedule Algorithm::build(const Job& job) const {
    const Schedule built = build_(job);
    return pipelines && !cuts_itself ? pipelined(built, job.segments) : built;
}

Schedule build_in_order(const Algorithm& algorithm, const Job& job) {
    if (job.order.channels.empty()) return algorithm.build(job);
    std::vector<Schedule> channels;
    for (const auto& channel : job.order.channels) {
        if (is_prefix(job.collective)) {  // the caller's order of ranks is part of the result
            channels.push_back(algorithm.build(job));
            continue;
        }
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

namespace {

std::deque<Algorithm>& added_rows() {
    static auto& added = *new std::deque<Algorithm>;
    return added;
}

// Calls visit(row) for the rows of the catalog, then for added ones.
template <class Visit>
void for_each_row(Visit&& visit) {
    for (const Algorithm& row : rows) visit(row);
    for (const Algorithm& row : added_rows()) visit(row);
}

}  // namespace

const Algorithm& add_algorithm(Algorithm algorithm) {
    return added_rows().emplace_back(std::move(algorithm));
}

std::vector<const Algorithm*> algorithms_of(Collective collective) {
    std::vector<const Algorithm*> found;
    for_each_row([&](const Algorithm& row) {
        if (row.collective == collective) found.push_back(&row);
    });
    return found;
}

const Algorithm* algorithm_called(Collective collective, std::string_view name) {
    const Algorithm* found = nullptr;
    for_each_row([&](const Algorithm& row) {
        if (found == nullptr && row.collective == collective && row.name == name) found = &row;
    });
    return found;
}

const Algorithm& find_algorithm(Collective collective, std::string_view name) {
    if (const Algorithm* row = algorithm_called(collective, name)) return *row;
    std::vector<std::string> known, has_it;
    for_each_row([&](const Algorithm& row) {
        if (row.collective == collective) known.emplace_back(row.name);
        if (row.name == name) has_it.emplace_back(name_of(row.collective));
    });
    if (has_it.empty())
        throw Error(unknown_name(std::string(name_of(collective)) + " algorithm", name, known));
    std::string text = "algorithm '" + std::string(name) + "' cannot do " +
                       std::string(name_of(collective)) + ", only";
    for (const auto& collective_name : has_it) text += " " + collective_name;
    text += "; for " + std::string(name_of(collective)) + " use one of:";
    for (const auto& algorithm : known) text += " " + algorithm;
    throw Error(text);
}

}  // namespace tutti
