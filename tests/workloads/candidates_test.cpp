// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/nccl_choice.hpp"
#include "collectives/baselines/nccl_forcing.hpp"
#include "workloads/bench/sweep.hpp"

namespace tutti {
namespace {

TEST(CountFor, RoundsUpSoThatSmallSizesAreNotNothing) {
    const auto count = [](DataType type, std::int64_t bytes) {
        return count_for(Collective::all_reduce, type, 3, Bytes{bytes});
    };
    EXPECT_EQ(count(DataType::float64, 0), 0);
    EXPECT_EQ(count(DataType::float64, 1), 1);
    EXPECT_EQ(count(DataType::float64, 8), 1);
    EXPECT_EQ(count(DataType::float64, 9), 2);
    EXPECT_EQ(count(DataType::int8, 9), 9);
}

// nccl-tests counts all ranks' blocks as the size of a collective that has blocks.
TEST(CountFor, IsTheLeastThatReachesTheSize) {
    for (const Collective collective : all_collectives())
        for (const int ranks : {1, 2, 3, 7})
            for (const std::int64_t bytes : {0, 1, 4, 8, 100, 4096, 1 << 20}) {
                if (!has_buffers(collective)) continue;
                const auto bytes_of = [&](std::int64_t count) {
                    return total_bytes(
                        {.collective = collective, .type = DataType::float32, .count = count},
                        ranks);
                };
                const auto count = count_for(collective, DataType::float32, ranks, Bytes{bytes});
                EXPECT_GE(bytes_of(count), bytes)
                    << name_of(collective) << " " << ranks << " " << bytes;
                if (count > 0) {
                    EXPECT_LT(bytes_of(count - 1), bytes);
                }
            }
}

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates) names.push_back(candidate.name());
    return names;
}

// Chain is cut, a tree has a radix, two-level-butterfly both, a ring neither.
TEST(Candidates, AreAllCombinationsOfParametersThatAnAlgorithmUses) {
    const SearchSpace search_space{
        .algorithms = {"ring", "tree", "chain", "two-level-butterfly"},
        .transports = {"shm"},
        .baselines = {"mpi"},
        .knobs = {{"segment", {0, 16384}}, {"radix", {0, 4}}, {"channels", {1, 2}}}};
    EXPECT_EQ(names_of(candidates(Collective::all_reduce, search_space)),
              (std::vector<std::string>{
                  "ring/shm", "ring[x2]/shm",                                               //
                  "tree/shm", "tree[x2]/shm", "tree[k4]/shm", "tree[k4,x2]/shm",            //
                  "chain/shm", "chain[x2]/shm", "chain[16K]/shm", "chain[16K,x2]/shm",      //
                  "two-level-butterfly/shm", "two-level-butterfly[x2]/shm",                 //
                  "two-level-butterfly[k4]/shm", "two-level-butterfly[k4,x2]/shm",          //
                  "two-level-butterfly[16K]/shm", "two-level-butterfly[16K,x2]/shm",        //
                  "two-level-butterfly[16K,k4]/shm", "two-level-butterfly[16K,k4,x2]/shm",  //
                  "mpi"}));
}

TEST(Candidates, AreNamedOnceHoweverTheDefaultRadixIsGiven) {
    const SearchSpace search_space{.algorithms = {"tree"},
                                   .transports = {"shm"},
                                   .baselines = {},
                                   .orders = {"naive", "topology"},
                                   .knobs = {{"radix", {0, 2, 3, 3}}}};
    EXPECT_EQ(names_of(candidates(Collective::broadcast, search_space)),
              (std::vector<std::string>{"tree/shm", "tree[k3]/shm", "tree@topology/shm",
                                        "tree[k3]@topology/shm"}));
}

TEST(Candidates, WithEqualTransfersAreListedOnce) {
    const SearchSpace search_space{.algorithms = {"tree", "linear", "chain", "two-level"},
                                   .transports = {"loopback", "shm"},
                                   .baselines = {"mpi"},
                                   .knobs = {{"segment", {0, 16384}}, {"radix", {0, 3, 4, 8}}}};
    const auto all = candidates(Collective::broadcast, search_space);
    const auto left = [&](int ranks, std::int64_t count, int per_node) {
        auto names =
            names_of(distinct(all, {.collective = Collective::broadcast, .count = count},
                              {.ranks = ranks, .hosts = Placement::in_nodes_of(ranks, per_node)}));
        std::erase_if(names, [](const auto& name) { return name.ends_with("loopback"); });
        return names;
    };
    using Names = std::vector<std::string>;
    // Between two ranks all trees send one message, from either rank. The catalog has the tree
    // first.
    EXPECT_EQ(left(2, 100, 2), (Names{"tree/shm", "mpi"}));
    // 64 KiB are one default segment, or four of 16 KiB.
    EXPECT_EQ(left(2, 16384, 2), (Names{"tree/shm", "chain[16K]/shm", "mpi"}));
    // Radix 4 and 8 serve all four at once, as linear does; on one node there is one level.
    EXPECT_EQ(left(4, 100, 4),
              (Names{"tree/shm", "tree[k3]/shm", "tree[k4]/shm", "chain/shm", "mpi"}));
    // Two nodes of two: across, then inside, is what a binomial tree does in another order.
    EXPECT_EQ(left(4, 100, 2), (Names{"tree/shm", "tree[k3]/shm", "tree[k4]/shm", "chain/shm",
                                      "two-level/shm", "mpi"}));
}

// The library cuts messages into 4 KiB by itself.
TEST(Candidates, OfALibraryUseItsOwnValuesByDefault) {
    Baseline library = find_baseline("mpi");
    library.own_value = [](Collective, std::string_view, const Knob& knob) {
        return std::string_view(knob.name) == "segment" ? std::optional<std::int64_t>(4096)
                                                        : std::nullopt;
    };
    std::vector<Candidate> all;
    for (const std::int64_t segment : {0, 4096, 16384, 65536})
        all.push_back(
            {{.impl = "mpi", .algorithm = "pipeline", .segment = {segment}}, nullptr, &library});
    const auto left = [&](std::int64_t count) {
        return names_of(
            distinct(all, {.collective = Collective::broadcast, .count = count}, {.ranks = 2}));
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(left(100), Names{"mpi/pipeline"}) << "nothing is cut";
    EXPECT_EQ(left(4096), (Names{"mpi/pipeline", "mpi/pipeline[16K]"}));
    EXPECT_EQ(left(16384), (Names{"mpi/pipeline", "mpi/pipeline[16K]", "mpi/pipeline[64K]"}));
}

TEST(Candidates, AreDistinctByTransportAndLeftInWhereNothingIsKnown) {
    const auto all = candidates(Collective::all_to_all, {.algorithms = {"butterfly", "bruck"},
                                                         .transports = {"loopback", "shm"},
                                                         .baselines = {"mpi"},
                                                         .orders = {"naive", "mine"}});
    const Order as_launched{{{{0}, {1}, {2}}}};
    const auto left = distinct(all, {.collective = Collective::all_to_all, .count = 9},
                               {.ranks = 3, .orders = {{"mine", as_launched}}});
    // The butterfly refuses three ranks, and should say so.
    EXPECT_EQ(names_of(left), (std::vector<std::string>{
                                  "butterfly/loopback", "butterfly@mine/loopback", "butterfly/shm",
                                  "butterfly@mine/shm", "bruck/loopback", "bruck/shm", "mpi"}));
}

TEST(Candidates, AreSomeAlgorithmsOnlyIfNamed) {
    const auto has_bine = [](std::vector<std::string> algorithms) {
        const auto names = names_of(
            candidates(Collective::all_gather,
                       {.algorithms = algorithms, .transports = {"shm"}, .baselines = {}}));
        EXPECT_GE(std::ranges::count(names, "ring/shm"), 1);
        return std::ranges::count(names, "bine/shm") == 1;
    };
    EXPECT_FALSE(has_bine({"all"}));
    EXPECT_TRUE(has_bine({"all", "bine"}));
    EXPECT_TRUE(has_bine({"all+"}));
    EXPECT_TRUE(has_bine({"ring", "all+"}));
    EXPECT_TRUE(has_bine({"bine", "ring"}));
}

TEST(Candidates, AreAlgorithmsOfALibraryToo) {
    const auto names = [](std::vector<std::string> baselines) {
        std::vector<std::string> all;
        for (const Candidate& candidate :
             candidates(Collective::all_reduce,
                        {.algorithms = {"none"}, .transports = {}, .baselines = baselines}))
            all.push_back(candidate.name());
        return all;
    };
    EXPECT_EQ(names({"mpi"}), std::vector<std::string>{"mpi"});
    EXPECT_EQ(names({"all"}), (std::vector<std::string>{"mpi", "nccl"}));
    EXPECT_EQ(names({"mpi/ring"}), std::vector<std::string>{"mpi/ring"});
    EXPECT_EQ(names({"mpi/ring", "mpi"}), (std::vector<std::string>{"mpi", "mpi/ring"}));
    // The library lists its algorithms only while it runs.
    EXPECT_EQ(names({"mpi/all"}), std::vector<std::string>{"mpi"});
    EXPECT_THROW(names({"mpx/ring"}), Error);
}

TEST(Candidates, AreAlgorithmsOfNcclWithProtocolsAndChannels) {
    const auto names = [](Collective collective, const std::string& baseline) {
        return names_of(candidates(
            collective, {.algorithms = {"none"}, .transports = {}, .baselines = {baseline}}));
    };
    // A ring by three protocols, each with NCCL's number of channels and with six others.
    EXPECT_EQ(names(Collective::broadcast, "nccl/all").size(), 1U + 3 * 7);
    // Tree and ring by three protocols, NVLS and its tree by one; CollNet has NCCL's number only.
    EXPECT_EQ(names(Collective::all_reduce, "nccl/all").size(), 1U + (6 + 2) * 7 + 2);
    EXPECT_EQ(names(Collective::all_gather, "nccl/all").size(), 1U + (3 + 2) * 7 + 1);
    for (const Collective collective : all_collectives())
        for (const std::string& name : nccl_algorithm_names(collective))
            EXPECT_EQ(to_string(parse_nccl_choice(name)), name);
    EXPECT_EQ(names(Collective::all_reduce, "nccl/tree-ll128-4"),
              std::vector<std::string>{"nccl/tree-ll128-4"});
    EXPECT_THROW(names(Collective::broadcast, "nccl/tree-ll128-4"), Error);
    EXPECT_THROW(names(Collective::all_reduce, "nccl/collnet-chain-simple-4"), Error);
}

TEST(NcclChoice, IsReadFromItsParts) {
    EXPECT_EQ(parse_nccl_choice("nvls-tree-simple-16"), (NcclChoice{5, 2, 16}));
    EXPECT_EQ(parse_nccl_choice("nvls-simple"), (NcclChoice{4, 2, 0}));
    EXPECT_EQ(parse_nccl_choice("collnet-direct"), (NcclChoice{2, NcclChoice::by_nccl, 0}));
    EXPECT_EQ(parse_nccl_choice("ring-4"), (NcclChoice{1, NcclChoice::by_nccl, 4}));
    for (const char* wrong : {"", "nvls-", "ring-ll-", "ring-ll-0", "ring-ll-65", "ring-4-ll",
                              "Ring", "ring-ll256", "ringll", "ring-ll--1", "ring-ll-4x"})
        EXPECT_THROW(parse_nccl_choice(wrong), Error) << wrong;
    EXPECT_EQ(to_string(NcclChoice{}), "default");
    EXPECT_FALSE(limits_channels(parse_nccl_choice("collnet-chain"), 1));
    EXPECT_TRUE(limits_channels(parse_nccl_choice("nvls"), 1));
    EXPECT_FALSE(limits_channels(parse_nccl_choice("nvls"), 2));
}

// NCCL's names of algorithms with protocols, for the settings of calls.
constexpr const char* names_in_calls[] = {"TREE_LL",
                                          "TREE_LL128",
                                          "TREE_SIMPLE",
                                          "RING_LL",
                                          "RING_LL128",
                                          "RING_SIMPLE",
                                          "COLLNET_DIRECT_SIMPLE",
                                          "COLLNET_CHAIN_SIMPLE",
                                          "NVLS_SIMPLE",
                                          "NVLSTREE_SIMPLE",
                                          "PAT_SIMPLE"};

std::vector<std::string> selected_by(const std::string& name) {
    std::vector<std::string> selected;
    for (const std::string one : names_in_calls)
        if (one.starts_with(name)) selected.push_back(one);
    return selected;
}

TEST(NcclForcing, SelectsOneAlgorithmByItsNameInNccl) {
    for (const auto& [choice, name] : {std::pair{"tree-ll128", "TREE_LL128"},
                                       {"collnet-direct-simple", "COLLNET_DIRECT_SIMPLE"},
                                       {"nvls-simple-4", "NVLS_SIMPLE"},
                                       {"nvls-tree-simple", "NVLSTREE_SIMPLE"},
                                       {"pat-simple", "PAT_SIMPLE"}})
        EXPECT_EQ(nccl::name_in_calls(parse_nccl_choice(choice)), name);
    EXPECT_EQ(selected_by(nccl::name_in_calls(parse_nccl_choice("nvls"))),
              std::vector<std::string>{"NVLS_SIMPLE"});
    EXPECT_EQ(selected_by(nccl::name_in_calls(parse_nccl_choice("ring"))).size(), 3U);
    for (const Collective collective : all_collectives())
        for (const std::string& name : nccl_algorithm_names(collective))
            EXPECT_FALSE(selected_by(nccl::name_in_calls(parse_nccl_choice(name))).empty()) << name;
}

TEST(NcclForcing, SetsAllMembersOfTheSettings) {
    const std::string name = "RING_LL";
    const nccl::CallConfig config = nccl::config_forcing(parse_nccl_choice("ring-ll-4"), name);
    EXPECT_EQ(config.size, 64U);
    EXPECT_EQ(config.magic, 0xcafebeefU);
    EXPECT_EQ(config.version, 23102U);
    EXPECT_EQ(config.algorithms, name.c_str());
    EXPECT_EQ(config.must_use_algorithms, 1);
    EXPECT_EQ(config.most_channels, 4);
    EXPECT_EQ(config.nvls_channels, 4);
    constexpr int unset = std::numeric_limits<int>::min();
    for (const int other : {config.least_channels, config.cluster_size, config.channel_policy})
        EXPECT_EQ(other, unset);
    EXPECT_EQ(nccl::config_forcing(parse_nccl_choice("ring-ll"), name).most_channels, unset);
}

TEST(NcclForcing, DependsOnTheVersion) {
    EXPECT_EQ(forcing_of_nccl(22105), NcclForcing::by_environment);
    EXPECT_EQ(forcing_of_nccl(22200), NcclForcing::by_tuner);
    EXPECT_EQ(forcing_of_nccl(23007), NcclForcing::by_tuner);
    EXPECT_EQ(forcing_of_nccl(23101), NcclForcing::by_tuner);
    EXPECT_EQ(forcing_of_nccl(23102), NcclForcing::by_call);
    EXPECT_EQ(
        nccl_environment_of(parse_nccl_choice("nvls-tree-simple-8")),
        (std::map<std::string, std::string>{{"NCCL_ALGO", "NVLSTree"}, {"NCCL_PROTO", "SIMPLE"}}));
    EXPECT_EQ(nccl_environment_of(parse_nccl_choice("ring")),
              (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}}));
}

}  // namespace
}  // namespace tutti
