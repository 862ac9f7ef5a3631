// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks of a rendezvous.
#include "collectives/world/rendezvous/peer_messages.hpp"

#include <sys/socket.h>

#include <chrono>

#include "collectives/world/rendezvous/protocol.hpp"
#include "tests/collectives/rendezvous/ranks.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

TEST(PeerMessages, ArriveByTagWhateverTheOrder) {
    expect_nothing_thrown(run_as_rendezvous(3, [](World& world) {
        PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
        const int me = world.rank().index;
        const std::vector<int> mine(1'000'000, me);
        // All send first, then receive: two messages to each of the two others.
        std::vector<std::thread> senders;
        for (const int to : {(me + 1) % 3, (me + 2) % 3})
            senders.emplace_back([&, to] {
                messages.send(std::as_bytes(std::span(mine)), {to}, 1);
                messages.send(std::as_bytes(std::span(&to, 1)), {to}, 2);
                messages.send({}, {to}, 3);
            });
        for (const int from : {(me + 2) % 3, (me + 1) % 3}) {
            int word = -1;
            messages.receive({}, {from}, 3);
            messages.receive(std::as_writable_bytes(std::span(&word, 1)), {from}, 2);
            EXPECT_EQ(word, me);
            std::vector<int> theirs(mine.size());
            messages.receive(std::as_writable_bytes(std::span(theirs)), {from}, 1);
            EXPECT_EQ(theirs, std::vector<int>(mine.size(), from));
        }
        for (auto& sender : senders) sender.join();
        world.barrier();
    }));
}

TEST(PeerMessages, OfOneTagArriveInTheOrderInWhichTheyWereSent) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
        if (world.is_first()) {
            for (const int word : {10, 11, 12})
                messages.send(std::as_bytes(std::span(&word, 1)), {1}, 1);
            messages.send({}, {1}, 2);
        } else {
            messages.receive({}, {0}, 2);  // so the others came early
            for (const int expected : {10, 11, 12}) {
                int word = -1;
                messages.receive(std::as_writable_bytes(std::span(&word, 1)), {0}, 1);
                EXPECT_EQ(word, expected);
            }
        }
        world.barrier();
    }));
}

TEST(PeerMessages, OfSeveralThreadsToOneRankStayWhole) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
        if (world.is_first()) {
            messages.send({}, {1}, 9);  // so they are connected
            std::vector<std::thread> senders;
            for (const int tag : {1, 2, 3})
                senders.emplace_back([&, tag] {
                    const std::vector<int> mine(1'000'000, tag);
                    messages.send(std::as_bytes(std::span(mine)), {1}, tag);
                });
            for (auto& sender : senders) sender.join();
        } else {
            messages.receive({}, {0}, 9);
            for (const int tag : {3, 1, 2}) {
                std::vector<int> theirs(1'000'000);
                messages.receive(std::as_writable_bytes(std::span(theirs)), {0}, tag);
                EXPECT_EQ(theirs, std::vector<int>(theirs.size(), tag));
            }
        }
        world.barrier();
    }));
}

// The deadline applies to a peer that sends nothing.
TEST(PeerMessages, ThatMoveMayTakeLongerThanTheDeadline) {
    expect_nothing_thrown(run_as_rendezvous(
        2,
        [](World& world) {
            PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
            if (world.is_first()) {
                for (int early = 0; early < 6; ++early) {
                    std::this_thread::sleep_for(250ms);
                    messages.send({}, {1}, 1);
                }
                messages.send({}, {1}, 2);
            } else {
                EXPECT_EQ(thrown_by([&] { messages.receive({}, {0}, 2); }).text, "");
            }
            world.sleeping_barrier(5);
        },
        1));
}

TEST(PeerMessages, OfAnotherLengthAreRefused) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
        double value = 0;
        if (world.is_first()) {
            messages.send(std::as_bytes(std::span("abc", 3)), {1}, 0);
        } else {
            const Thrown thrown = thrown_by(
                [&] { messages.receive(std::as_writable_bytes(std::span(&value, 1)), {0}, 0); });
            EXPECT_TRUE(holds(thrown.text, "sent 3 bytes"));
        }
        EXPECT_EQ(thrown_by([&] { messages.send({}, world.rank(), 0); }).code, Exit::usage);
        world.barrier();
    }));
}

// Takes part in the constructor of PeerMessages without making one, and connects by hand.
class HandmadePeer {
public:
    explicit HandmadePeer(ProcessWorld& world)
        : world_(world),
          listening_(world.listen_for_ranks()),
          addresses_(world.addresses_of(port_of(listening_.number))),
          tokens_(gather_all(world, std::uint64_t{1})) {}

    const OpenFile& listening() const { return listening_; }
    std::uint64_t token_of_first() const { return tokens_[0]; }
    Hello hello() const {
        return {.rank = world_.rank().index, .size = world_.size(), .job = token_of_first()};
    }
    // Sends a number with tag 1 to rank 0 over a connection of its own, which stays open.
    void send(const Hello& hello, std::int32_t number) {
        ConnectAttempt attempt = try_connect(addresses_[0]);
        ASSERT_TRUE(attempt.socket) << attempt.problem;
        struct Message {
            Hello hello;
            std::int64_t tag = 1;
            std::uint64_t bytes = sizeof(std::int32_t);
            std::int32_t number;
        };
        static_assert(sizeof(Hello) % alignof(std::int64_t) == 0);  // no gap before the tag
        const Message message{.hello = hello, .number = number};
        constexpr std::size_t bytes = sizeof(Hello) + 2 * sizeof(std::int64_t) + sizeof number;
        EXPECT_EQ(::send(attempt.socket.number, &message, bytes, MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes));
        connections_.push_back(std::move(attempt.socket));
    }

private:
    ProcessWorld& world_;
    OpenFile listening_;
    std::vector<TcpAddress> addresses_;
    std::vector<std::uint64_t> tokens_;
    std::vector<OpenFile> connections_;
};

// Rank 1 connects by `connect`; returns the number that rank 0 then receives from it.
std::int32_t received_from(const std::function<void(HandmadePeer&)>& connect) {
    std::int32_t number = 0;
    expect_nothing_thrown(run_as_rendezvous(2, [&](World& world) {
        auto& processes = dynamic_cast<ProcessWorld&>(world);
        if (world.is_first()) {
            PeerMessages messages(processes);
            world.barrier();  // until all connections wait to be accepted
            messages.receive(std::as_writable_bytes(std::span(&number, 1)), {1}, 1);
            world.barrier();
        } else {
            HandmadePeer peer(processes);
            connect(peer);
            world.barrier();
            world.barrier();
        }
    }));
    return number;
}

TEST(PeerMessages, ComeFromConnectionsWithTheTokenOfThisRankOnly) {
    EXPECT_EQ(received_from([](HandmadePeer& peer) {
                  Hello strange = peer.hello();
                  ++strange.job;
                  peer.send(strange, 13);
                  strange.job = 0;
                  peer.send(strange, 14);
                  Hello no_head = peer.hello();
                  no_head.head.magic = 0;
                  peer.send(no_head, 15);
                  Hello no_rank = peer.hello();
                  for (const int rank : {-1, 2}) {
                      no_rank.rank = rank;
                      peer.send(no_rank, 16);
                  }
                  peer.send(peer.hello(), 7);
              }),
              7);
}

TEST(PeerMessages, ComeFromTheFirstConnectionOfARank) {
    EXPECT_EQ(received_from([](HandmadePeer& peer) {
                  peer.send(peer.hello(), 7);
                  peer.send(peer.hello(), 13);
              }),
              7);
}

TEST(PeerMessages, HaveAnotherTokenEachTime) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        auto& processes = dynamic_cast<ProcessWorld&>(world);
        std::vector<std::uint64_t> tokens;
        for (int time = 0; time < 3; ++time) {
            if (world.is_first())
                PeerMessages{processes};
            else
                tokens.push_back(HandmadePeer(processes).token_of_first());
        }
        if (world.is_first()) return;
        EXPECT_NE(tokens[0], tokens[1]);
        EXPECT_NE(tokens[1], tokens[2]);
        for (const std::uint64_t token : tokens) EXPECT_GT(token >> 32, 0U);
    }));
}

TEST(PeerMessages, OfOneHostAreHeardOnThisMachineOnly) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        auto& processes = dynamic_cast<ProcessWorld&>(world);
        EXPECT_TRUE(is_loopback(own_end(processes.listen_for_ranks().number)));
        world.barrier();
    }));
}

TEST(PeerMessages, ThatDoNotComeEndTheWaitAtTheDeadline) {
    expect_nothing_thrown(run_as_rendezvous(
        2,
        [](World& world) {
            PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
            if (world.is_first()) {
                char byte = 0;
                const Thrown thrown = thrown_by(
                    [&] { messages.receive(std::as_writable_bytes(std::span(&byte, 1)), {1}, 4); });
                EXPECT_TRUE(holds(thrown.text, "rank 1 (tag 4)"));
                EXPECT_EQ(thrown.code, Exit::time_out);
            }
            world.sleeping_barrier(5);
            char byte = 'x';
            if (world.is_first())
                messages.receive(std::as_writable_bytes(std::span(&byte, 1)), {1}, 4);
            else
                messages.send(std::as_bytes(std::span("y", 1)), {0}, 4);
            EXPECT_EQ(byte, world.is_first() ? 'y' : 'x');
            world.sleeping_barrier(5);
        },
        0.5));
}

// More than sockets buffer.
constexpr std::size_t much = std::size_t{64} << 20;

TEST(PeerMessages, AreRefusedAfterOneThatBrokeOffWhileItWasSent) {
    expect_nothing_thrown(run_as_rendezvous(
        2,
        [](World& world) {
            PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
            std::vector<std::byte> data(much);
            if (world.is_first()) {
                EXPECT_EQ(thrown_by([&] { messages.send(data, {1}, 1); }).code, Exit::time_out);
                const Thrown next = thrown_by([&] { messages.send({}, {1}, 2); });
                EXPECT_TRUE(holds(next.text, "send to rank 1:"));
                EXPECT_EQ(next.code, Exit::rank_lost);
            }
            world.sleeping_barrier(5);
            if (!world.is_first()) {
                EXPECT_EQ(thrown_by([&] { messages.receive(data, {0}, 1); }).code, Exit::rank_lost);
                EXPECT_TRUE(holds(thrown_by([&] { messages.receive({}, {0}, 2); }).text,
                                  "receive from rank 0:"));
            }
            world.sleeping_barrier(5);
        },
        0.5));
}

TEST(PeerMessages, AreRefusedAfterOneThatBrokeOffWhileItWasReceived) {
    TestRendezvous two(2);
    ChildRank child(two.of(1), [](World& world) {
        PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
        messages.send(std::vector<std::byte>(much), {0}, 1);
    });
    const auto world = rendezvous_world(two.of(0));
    PeerMessages messages(dynamic_cast<ProcessWorld&>(*world));
    std::this_thread::sleep_for(300ms);
    child.kill(SIGSTOP);
    world->hang_timeout = 0.5;
    std::vector<std::byte> data(much);
    EXPECT_EQ(thrown_by([&] { messages.receive(data, {1}, 1); }).code, Exit::time_out);
    child.kill(SIGCONT);
    const Thrown next = thrown_by([&] { messages.receive({}, {1}, 0); });
    EXPECT_TRUE(holds(next.text, "receive from rank 1:"));
    EXPECT_EQ(next.code, Exit::rank_lost);
    EXPECT_EQ(child.end(), static_cast<int>(Exit::rank_lost));
}

// The rank ends before the wait for it begins, or during it.
TEST(PeerMessages, OfARankThatHasEndedAreNotWaitedFor) {
    for (const auto lives : {0ms, 1300ms}) {
        TestRendezvous two(2);
        ChildRank child(two.of(1), [](World& world) {
            PeerMessages messages(dynamic_cast<ProcessWorld&>(world));
            for (;;) pause();
        });
        const auto world = rendezvous_world(two.of(0));
        PeerMessages messages(dynamic_cast<ProcessWorld&>(*world));
        const auto began = std::chrono::steady_clock::now();
        std::thread killer([&] {
            std::this_thread::sleep_for(lives);
            child.kill(SIGKILL);
        });
        const Thrown thrown = thrown_by([&] { messages.receive({}, {1}, 7); });
        EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
        EXPECT_TRUE(holds(thrown.text, "rank 0 lost rank 1"));
        EXPECT_TRUE(holds(thrown.text, "tag 7"));
        EXPECT_EQ(thrown.code, Exit::rank_lost);
        killer.join();
    }
}

TEST(PeerMessages, ArriveAlthoughTheirSenderHasLeft) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        std::optional<PeerMessages> messages(std::in_place, dynamic_cast<ProcessWorld&>(world));
        if (world.is_first()) {
            messages->receive({}, {1}, 1);
        } else {
            std::this_thread::sleep_for(1300ms);  // so that rank 0 watches
            messages->send({}, {0}, 1);
            messages.reset();
        }
        world.barrier();
    }));
}

}  // namespace
}  // namespace tutti
