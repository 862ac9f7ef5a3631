// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx/rails_endpoint.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// Notes the messages that are posted: "> 3 65536" to rank 3, "< 3 65536" from rank 3.
class NotingEndpoint final : public Endpoint {
public:
    void post_receive(int, Rank from, std::span<std::byte> into) override {
        note("< ", from, into.size());
    }
    void post_send(int, Rank to, std::span<const std::byte> from) override {
        note("> ", to, from.size());
    }
    bool all_done() override {
        ++polls;
        return is_done;
    }
    std::optional<Rank> waits_for() const override {
        return is_done ? std::nullopt : std::optional<Rank>{{7}};
    }
    void throw_if_failed() override {
        if (fails) throw Error("lost", Exit::rank_lost);
    }
    void give_up() override { has_given_up = true; }
    std::optional<std::string> left_over() const override { return left; }

    std::vector<std::string> posted;
    std::optional<std::string> left;
    int polls = 0;
    bool is_done = true, fails = false, has_given_up = false;

private:
    void note(const char* way, Rank peer, std::size_t bytes) {
        posted.push_back(way + std::to_string(peer.index) + " " + std::to_string(bytes));
    }
};

class CountingWorker final : public Progressable {
public:
    void make_progress() override { ++progressed; }
    int progressed = 0;
};

// An endpoint of a rank over two rails, which stay visible.
struct TwoRails {
    explicit TwoRails(Rank me, EndpointNeeds needs = {}, std::span<const Rank> on_this_host = {}) {
        std::vector<Rail> rails;
        for (int i = 0; i < 2; ++i) {
            noted[i] = new NotingEndpoint;
            rails.push_back({std::unique_ptr<Endpoint>(noted[i]), workers[i]});
        }
        endpoint = std::make_unique<RailsEndpoint>(std::move(rails), needs, me, on_this_host);
    }
    void send(Rank to, std::size_t bytes) {
        endpoint->post_send(0, to, std::span(data).first(bytes));
    }
    void receive(Rank from, std::size_t bytes) {
        endpoint->post_receive(0, from, std::span(data).first(bytes));
    }

    NotingEndpoint* noted[2] = {};
    CountingWorker workers[2];
    std::unique_ptr<Endpoint> endpoint;
    std::vector<std::byte> data = std::vector<std::byte>(5 * least_bytes_of_rails);
};

using Posted = std::vector<std::string>;
constexpr std::size_t large = least_bytes_of_rails, small = large - 1;

TEST(RailsEndpoint, DividesLargeMessagesToEachPeer) {
    TwoRails one({0}, {.peers = {{1}, {2}}});
    for (const Rank peer : {Rank{1}, Rank{1}, Rank{2}, Rank{1}, Rank{2}}) one.send(peer, large);
    EXPECT_EQ(one.noted[0]->posted, (Posted{"> 1 4096", "> 2 4096", "> 1 4096"}));
    EXPECT_EQ(one.noted[1]->posted, (Posted{"> 1 4096", "> 2 4096"}));
}

TEST(RailsEndpoint, LeavesSmallMessagesOnTheFirstRail) {
    TwoRails one({1}, {.plan = 4, .peers = {{0}}});
    for (const std::size_t bytes : {small, large, small, std::size_t{0}, large})
        one.send({0}, bytes);
    EXPECT_EQ(one.noted[0]->posted, (Posted{"> 0 4095", "> 0 4095", "> 0 0", "> 0 4096"}));
    EXPECT_EQ(one.noted[1]->posted, (Posted{"> 0 4096"}));
}

TEST(RailsEndpoint, LeavesMessagesWithinAHostOnTheFirstRail) {
    const std::vector<Rank> host{{0}, {1}};
    TwoRails one({1}, {.peers = {{0}, {2}}}, host);
    for (int i = 0; i < 3; ++i) {
        one.send({0}, large);
        one.receive({0}, large);
        one.send({2}, large);
    }
    EXPECT_EQ(one.noted[0]->posted, (Posted{"> 0 4096", "< 0 4096", "> 0 4096", "< 0 4096",
                                            "> 2 4096", "> 0 4096", "< 0 4096"}));
    EXPECT_EQ(one.noted[1]->posted, (Posted{"> 2 4096", "> 2 4096"}));
}

// Whatever the plan, the ranks and the sizes: a message leaves and arrives on the same rail.
TEST(RailsEndpoint, TakesTheSenderSRailAtTheReceiver) {
    for (int plan = 0; plan < 3; ++plan)
        for (const Rank from : {Rank{0}, Rank{1}, Rank{5}}) {
            const Rank to{2};
            TwoRails sender(from, {.plan = plan, .peers = {to}});
            TwoRails receiver(to, {.plan = plan, .peers = {{0}, {1}, {5}}});
            for (const std::size_t bytes : {large, small, 3 * large, 5 * large, small, large}) {
                sender.send(to, bytes);
                receiver.receive(from, bytes);
                receiver.send(from, bytes);  // is counted apart
            }
            for (int rail = 0; rail < 2; ++rail) {
                Posted arrived = receiver.noted[rail]->posted;
                std::erase_if(arrived, [](const auto& post) { return post.starts_with('>'); });
                for (std::string& post : arrived) post = "> 2" + post.substr(3);
                EXPECT_EQ(arrived, sender.noted[rail]->posted) << plan << " " << from.index;
            }
        }
}

TEST(RailsEndpoint, StartsOnAnotherRailInTheNextPlanAndAtTheNextRank) {
    const auto first_rail = [](int plan, Rank me) {
        TwoRails one(me, {.plan = plan, .peers = {{9}}});
        one.send({9}, large);
        return one.noted[0]->posted.empty() ? 1 : 0;
    };
    EXPECT_NE(first_rail(0, {0}), first_rail(1, {0}));
    EXPECT_NE(first_rail(0, {0}), first_rail(0, {1}));
}

TEST(RailsEndpoint, IsDoneWhenAllRailsAre) {
    TwoRails one({0});
    one.noted[0]->is_done = false;
    EXPECT_FALSE(one.endpoint->all_done());
    EXPECT_EQ(one.noted[1]->polls, 1);  // moves, too
    EXPECT_EQ(one.endpoint->waits_for(), Rank{7});
    std::swap(one.noted[0]->is_done, one.noted[1]->is_done);
    EXPECT_FALSE(one.endpoint->all_done());
    EXPECT_EQ(one.endpoint->waits_for(), Rank{7});
    one.noted[1]->is_done = true;
    EXPECT_TRUE(one.endpoint->all_done());
    EXPECT_EQ(one.endpoint->waits_for(), std::nullopt);
}

// The peer may wait for bytes of a send that is done here.
TEST(RailsEndpoint, MovesBytesOfRailsThatAreDoneWhileAnotherIsOpen) {
    TwoRails one({0});
    for (int open = 0; open < 2; ++open) {
        const int done = 1 - open;
        one.noted[open]->is_done = false;
        EXPECT_FALSE(one.endpoint->all_done());
        EXPECT_EQ(one.workers[done].progressed, 1);
        one.noted[open]->is_done = true;
        EXPECT_TRUE(one.endpoint->all_done());
        EXPECT_EQ(one.workers[done].progressed, 1);  // without messages it costs nothing
        one.workers[open].progressed = 0;
    }
}

TEST(RailsEndpoint, PassesOnWhatAnyRailReports) {
    TwoRails one({0});
    one.endpoint->throw_if_failed();
    EXPECT_EQ(one.endpoint->left_over(), std::nullopt);
    one.noted[1]->fails = true;
    one.noted[1]->left = "one";
    EXPECT_THROW(one.endpoint->throw_if_failed(), Error);
    EXPECT_EQ(one.endpoint->left_over(), "one");
    one.endpoint->give_up();
    EXPECT_TRUE(one.noted[0]->has_given_up && one.noted[1]->has_given_up);
}

}  // namespace
}  // namespace tutti
