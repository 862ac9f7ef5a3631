// SPDX-License-Identifier: Apache-2.0
#include "topology/placement/order.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "example_host.hpp"

namespace tutti {
namespace {

std::vector<int> numbers_of(const std::vector<Rank>& ranks) {
    std::vector<int> numbers;
    for (const Rank rank : ranks) numbers.push_back(rank.index);
    return numbers;
}

TEST(OrderByTopology, WalksHostByHostInTheOrderOfTheirFirstRanks) {
    const std::vector<RankBinding> dealt{{.host = 5}, {.host = 2}, {.host = 5}, {.host = 2}};
    EXPECT_EQ(numbers_of(order_by_topology(dealt).channels.at(0)), (std::vector{0, 2, 1, 3}));
}

TEST(OrderByTopology, WalksPackagesThenNumaNodesThenCachesThenCores) {
    const std::vector<RankBinding> sites{
        {.package = 1, .numa_node = 2, .cache = 4, .core = 8},
        {.package = 0, .numa_node = 1, .cache = 2, .core = 5},
        {.package = 0, .numa_node = 0, .cache = 1, .core = 2},
        {.package = 0, .numa_node = 1, .cache = 2, .core = 4},
        {.package = 0, .numa_node = 0, .cache = 0, .core = 3},
    };
    EXPECT_EQ(numbers_of(order_by_topology(sites).channels.at(0)), (std::vector{4, 2, 3, 1, 0}));
}

TEST(OrderByTopology, LeavesRanksInOrderWhereNothingIsKnownOfThem) {
    const std::vector<RankBinding> sites(4);
    EXPECT_EQ(numbers_of(order_by_topology(sites).channels.at(0)), (std::vector{0, 1, 2, 3}));
}

std::vector<std::vector<int>> numbers_of(const Order& order) {
    std::vector<std::vector<int>> numbers;
    for (const auto& channel : order.channels) numbers.push_back(numbers_of(channel));
    return numbers;
}

using Channels = std::vector<std::vector<int>>;

TEST(ChannelsOf, GoInBothDirectionsFromPlacesFarApart) {
    EXPECT_EQ(numbers_of(channels_of({}, 8, 4)), (Channels{{0, 1, 2, 3},
                                                           {3, 2, 1, 0},
                                                           {2, 3, 0, 1},
                                                           {1, 0, 3, 2},
                                                           {1, 2, 3, 0},
                                                           {0, 3, 2, 1},
                                                           {3, 0, 1, 2},
                                                           {2, 1, 0, 3}}));
}

TEST(ChannelsOf, KeepEachChannelOfTheOrderFirst) {
    const Order order{{{{2}, {0}, {1}}, {{0}, {1}, {2}}}};
    EXPECT_EQ(numbers_of(channels_of(order, 2, 3)),
              (Channels{{2, 0, 1}, {0, 1, 2}, {1, 0, 2}, {2, 1, 0}}));
}

TEST(ChannelsOf, AreTheOrderItselfIfOne) {
    const Order order{{{{1}, {0}}}};
    EXPECT_EQ(channels_of(order, 1, 2), order);
    EXPECT_EQ(channels_of({}, 1, 2), Order{});
}

TEST(ChannelsOf, AreAllRanksEachHoweverMany) {
    for (const int ranks : {1, 2, 3, 7, 64})
        for (auto channel : numbers_of(channels_of({}, most_channels, ranks))) {
            std::ranges::sort(channel);
            for (int rank = 0; rank < ranks; ++rank)
                EXPECT_EQ(channel.at(static_cast<std::size_t>(rank)), rank);
            EXPECT_EQ(std::ssize(channel), ranks);
        }
}

TEST(ChannelsOf, RefuseNoneAndTooMany) {
    for (const int count : {-1, 0, most_channels + 1})
        EXPECT_THROW(channels_of({}, count, 4), Error);
}

TEST(SiteOf, NamesTheSmallestPartWithAllCpusOfARank) {
    const Host host = example_host();
    EXPECT_EQ(binding_of(host, {6}),
              (RankBinding{.package = 1, .numa_node = 1, .cache = 1, .core = 2}));
    EXPECT_EQ(binding_of(host, {2, 6}), binding_of(host, {6}));  // two threads of one core
    EXPECT_EQ(binding_of(host, {0, 1}), (RankBinding{.package = 0, .numa_node = 0, .cache = 0}));
    EXPECT_EQ(binding_of(host, {0, 3}), RankBinding{});
    EXPECT_EQ(binding_of(host, {}), RankBinding{});
}

class OrderFile : public testing::Test {
protected:
    OrderFile()
        : path_(std::filesystem::temp_directory_path() /
                ("tutti-order-" + std::to_string(getpid()))) {}
    ~OrderFile() override { std::filesystem::remove(path_); }

    Order read(const std::string& content, int ranks) {
        std::ofstream(path_) << content;
        return read_order(path_, ranks);
    }

    // Returns the error text after the file name.
    std::string refusal(const std::string& content, int ranks) {
        try {
            read(content, ranks);
        } catch (const Error& error) {
            const std::string text = error.what();
            EXPECT_TRUE(text.starts_with(path_.string())) << text;
            return text.substr(path_.string().size());
        }
        return "nothing was thrown";
    }

private:
    std::filesystem::path path_;
};

TEST_F(OrderFile, HasALineForEachChannelAndComments) {
    const Order order = read("# there and back\n0 2 1\n\n  1\t2 0  # back", 3);
    ASSERT_EQ(order.channels.size(), 2U);
    EXPECT_EQ(numbers_of(order.channels[0]), (std::vector{0, 2, 1}));
    EXPECT_EQ(numbers_of(order.channels[1]), (std::vector{1, 2, 0}));
}

TEST_F(OrderFile, IsRefusedByLine) {
    const std::pair<const char*, const char*> files[] = {
        {"0 1 2\n0 1\n", ":2: rank 2"}, {"0 1 1\n", ":1: rank 1"},
        {"\n0 1 3\n", ":2: '3'"},       {"0,1,2\n", ":1: '0,1,2'"},
        {"0 1 -2\n", ":1: '-2'"},       {"# nothing\n", " has no channel"}};
    for (const auto& [text, complaint] : files)
        EXPECT_TRUE(refusal(text, 3).starts_with(complaint)) << refusal(text, 3);
    EXPECT_THROW(read_order("/nowhere/order", 2), Error);
}

TEST(PlacementOf, GroupsRanksByHostPackageNumaNodeAndCache) {
    const Placement placement = placement_of(std::vector<RankBinding>{
        {.host = 0, .package = 0, .numa_node = 0, .cache = 0},
        {.host = 0, .package = 0, .numa_node = 0, .cache = 1},
        {.host = 0, .package = 0, .numa_node = 1, .cache = 2},
        {.host = 0, .package = 1, .numa_node = 2, .cache = 3},
        {.host = 1, .package = 0, .numa_node = 0, .cache = 0},
        {.host = 1},  // may run anywhere on its host
    });
    const auto sizes = [&](Level level) { return placement.groups(level).size(); };
    EXPECT_EQ(sizes(Level::host), 2U);
    EXPECT_EQ(sizes(Level::package), 4U);
    EXPECT_EQ(sizes(Level::numa), 5U);
    EXPECT_EQ(sizes(Level::cache), 6U);
}

TEST(PlacementOf, LeavesOutLevelsOfWhichNothingIsKnown) {
    const Placement placement =
        placement_of(std::vector<RankBinding>{{.package = 0}, {.package = 1}});
    ASSERT_EQ(placement.levels().size(), 2U);
    EXPECT_EQ(placement.levels().front().level, Level::package);
}

TEST(BindingsThatFill, AreOnEachGpuOrElseOnEachCore) {
    Host host = example_host();
    const auto gpus = std::ranges::count(host.devices, DeviceKind::gpu, &Device::kind);
    const std::size_t cores = host.cores.size();
    ASSERT_GT(gpus, 0);
    EXPECT_EQ(std::ssize(bindings_that_fill({{host, host}, {}})), 2 * gpus);
    std::erase_if(host.devices, [](const Device& one) { return one.kind == DeviceKind::gpu; });
    const auto bindings = bindings_that_fill({{host, host}, {}});
    ASSERT_EQ(bindings.size(), 2 * cores);
    EXPECT_EQ(bindings.front().host, 0);
    EXPECT_EQ(bindings.back().host, 1);
    EXPECT_EQ(bindings.back().core, static_cast<int>(cores) - 1);
    host.cores.clear();
    EXPECT_THROW(bindings_that_fill({{host}, {}}), Error);
}

}  // namespace
}  // namespace tutti
