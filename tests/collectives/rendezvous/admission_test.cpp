// SPDX-License-Identifier: Apache-2.0
// Processes that may join as ranks, and the refusals of all others.
#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>

#include "base/hashes.hpp"
#include "collectives/world/rendezvous/protocol.hpp"
#include "tests/collectives/rendezvous/ranks.hpp"

namespace tutti {
namespace {

constexpr auto nothing = [](World&) {};

// Ranks 0 and 1 of two join although `intruder` connected before rank 1. Returns its error.
Thrown with_intruder(const std::function<void(TestRendezvous&)>& intruder) {
    TestRendezvous two(2);
    Thrown of_intruder, of_rank0, of_rank1;
    std::thread rank0([&, where = two.of(0)] {
        of_rank0 = thrown_by([&] { rendezvous_world(where)->barrier(); });
    });
    of_intruder = thrown_by([&] { intruder(two); });
    of_rank1 = thrown_by([&] { rendezvous_world(two.of(1))->barrier(); });
    rank0.join();
    EXPECT_EQ(of_rank0.text, "");
    EXPECT_EQ(of_rank1.text, "");
    return of_intruder;
}

void join_as(Rendezvous where) { rendezvous_world(where); }

TEST(Rendezvous, MakesRanksOfProcessesThatComeInAnyOrder) {
    for (const int ranks : {1, 2, 3, 8})
        for (const Thrown& of_rank : run_as_rendezvous(ranks, [&](World& world) {
                 EXPECT_EQ(world.size(), ranks);
                 EXPECT_EQ(world.kind(), "processes");
                 EXPECT_TRUE(world.one_host());
             }))
            EXPECT_EQ(of_rank.text, "");
}

TEST(Rendezvous, RefusesAnotherSizeOrJob) {
    for (const bool is_other_job : {false, true}) {
        const Thrown thrown = with_intruder([&](TestRendezvous& two) {
            Rendezvous where = two.of(1);
            if (is_other_job)
                where.job = "yesterday's";
            else
                where.size = 3;
            join_as(where);
        });
        EXPECT_TRUE(holds(thrown.text, is_other_job ? "another job" : "of 3 ranks"));
        EXPECT_EQ(thrown.code, Exit::usage);
    }
}

TEST(Rendezvous, RefusesTheSecondProcessOfARank) {
    TestRendezvous three(3);
    std::vector<Thrown> thrown(4);
    std::thread rank0([&, where = three.of(0)] {
        thrown[0] = thrown_by([&] { rendezvous_world(where)->barrier(); });
    });
    // The first of the two becomes rank 1.
    std::vector<std::thread> twins;
    for (const int i : {1, 2})
        twins.emplace_back([&, i, where = three.of(1)] {
            thrown[as_size(i)] = thrown_by([&] { rendezvous_world(where)->barrier(); });
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    thrown[3] = thrown_by([&] { rendezvous_world(three.of(2))->barrier(); });
    for (auto& twin : twins) twin.join();
    rank0.join();
    EXPECT_EQ(thrown[0].text + thrown[3].text, "");
    const Thrown& refused = thrown[1].text.empty() ? thrown[2] : thrown[1];
    EXPECT_TRUE(thrown[1].text.empty() != thrown[2].text.empty());
    EXPECT_TRUE(holds(refused.text, "already joined"));
    EXPECT_TRUE(holds(refused.text, "127.0.0.1"));
}

// Returns the answer to a message.
std::string answer_on(const OpenFile& socket, std::span<const std::byte> words) {
    EXPECT_TRUE(socket);
    send(socket.number, words.data(), words.size(), MSG_NOSIGNAL);
    std::string got(sizeof(Answer), '\0');
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket.number, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const int flags = fcntl(socket.number, F_GETFL);
    fcntl(socket.number, F_SETFL, flags & ~O_NONBLOCK);
    const auto length = recv(socket.number, got.data(), got.size(), MSG_WAITALL);
    got.resize(length > 0 ? as_size(length) : 0);
    return got;
}

OpenFile connected_to(const TestRendezvous& ranks) {
    return try_connect(parse_tcp_address(ranks.address()), 1000).socket;
}

std::string answer_to(const TestRendezvous& ranks, std::span<const std::byte> words) {
    return answer_on(connected_to(ranks), words);
}

TEST(Rendezvous, ClosesOtherProtocolsWithoutAnAnswer) {
    with_intruder([](TestRendezvous& two) {
        const std::string http = "GET / HTTP/1.1\r\nHost: node3\r\n\r\n";
        EXPECT_EQ(answer_to(two, std::as_bytes(std::span(http))), "");
        const std::string few = "x";  // and then gone
        const ConnectAttempt gone = try_connect(parse_tcp_address(two.address()), 1000);
        send(gone.socket.number, few.data(), few.size(), MSG_NOSIGNAL);
        const std::vector<std::byte> zeros(100'000);
        EXPECT_EQ(answer_to(two, zeros), "");
    });
}

TEST(Rendezvous, IsNotHeldUpByConnectionsThatSayNothing) {
    TestRendezvous two(2);
    std::vector<ConnectAttempt> silent;
    for (int i = 0; i < 20; ++i)
        silent.push_back(try_connect(parse_tcp_address(two.address()), 1000));
    Thrown of_rank0;
    std::thread rank0([&, where = two.of(0)] {
        of_rank0 = thrown_by([&] { rendezvous_world(where)->barrier(); });
    });
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(thrown_by([&] { rendezvous_world(two.of(1))->barrier(); }).text, "");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
    rank0.join();
    EXPECT_EQ(of_rank0.text, "");
}

TEST(Rendezvous, TellsAnotherVersionWhichOneIsMeant) {
    with_intruder([](TestRendezvous& two) {
        Hello of_tomorrow{.rank = 1, .size = 2};
        of_tomorrow.head.version = 9;
        const std::string got =
            answer_to(two, std::as_bytes(std::span(&of_tomorrow, 1)).first(sizeof(HandshakeHead)));
        EXPECT_TRUE(holds(got, "version 9"));
    });
}

// It would replace a missing rank.
TEST(Rendezvous, RefusesAnotherRank0) {
    with_intruder([](TestRendezvous& two) {
        const Hello of_rank0{.size = 2, .job = fnv1a({})};
        const std::string got = answer_to(two, std::as_bytes(std::span(&of_rank0, 1)));
        EXPECT_TRUE(holds(got, "no rank 0"));
    });
}

TEST(Rendezvous, NamesTheRanksThatDidNotCome) {
    TestRendezvous four(4, 1);
    Thrown of_rank1;
    std::thread rank1(
        [&, where = four.of(1)] { of_rank1 = thrown_by([&] { rendezvous_world(where); }); });
    const Rendezvous first = four.of(0);
    const Thrown of_rank0 = thrown_by([&] { rendezvous_world(first); });
    rank1.join();
    for (const Thrown& thrown : {of_rank0, of_rank1}) {
        EXPECT_TRUE(holds(thrown.text, first.address + ": ranks 2, 3"));
        EXPECT_EQ(thrown.code, Exit::time_out);
    }
}

TEST(Rendezvous, NamesTheRefusedProcessesAtTheDeadline) {
    TestRendezvous two(2, 2);
    Rendezvous where = two.of(1);
    where.size = 5;
    std::thread intruder([&] { EXPECT_EQ(thrown_by([&] { join_as(where); }).code, Exit::usage); });
    const Thrown of_rank0 = thrown_by([&] { rendezvous_world(two.of(0)); });
    intruder.join();
    EXPECT_TRUE(holds(of_rank0.text, "refused: 1"));
    EXPECT_TRUE(holds(of_rank0.text, "one of 5 ranks"));
}

TEST(Rendezvous, TakesOverASocketThatBlocks) {
    TestRendezvous two(2, 0.5);
    const Rendezvous first = two.of(0);
    fcntl(first.listening_socket, F_SETFL, 0);
    ChildRank rank0(first, nothing);
    EXPECT_EQ(rank0.end(), static_cast<int>(Exit::time_out));
}

TEST(Rendezvous, SaysThatRank0IsNotThere) {
    const int free = port_of(listen_at({"127.0.0.1", 0}).number);
    const std::string address = to_string(TcpAddress{"127.0.0.1", free});
    const auto began = std::chrono::steady_clock::now();
    const Thrown thrown = thrown_by(
        [&] { rendezvous_world({.address = address, .rank = 1, .size = 2, .deadline = 3}); });
    EXPECT_TRUE(holds(thrown.text, address + ": Connection refused"));
    EXPECT_EQ(thrown.code, Exit::time_out);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(8500));
}

TEST(Rendezvous, SaysThatAnotherProgramListensThere) {
    const OpenFile other = listen_at({"127.0.0.1", 0});
    std::thread program([&] {
        OpenFile client{-1};
        while (!client) {
            OpenFile one = accept_pending(other.number);
            if (!one) continue;
            const std::string banner = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";
            send(one.number, banner.data(), banner.size(), MSG_NOSIGNAL);
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            return;
        }
    });
    const Thrown thrown = thrown_by([&] {
        rendezvous_world({.address = to_string(TcpAddress{"127.0.0.1", port_of(other.number)}),
                          .rank = 1,
                          .size = 2,
                          .deadline = 5});
    });
    program.join();
    EXPECT_TRUE(holds(thrown.text, "other than rank 0"));
}

TEST(Rendezvous, OfAPortThatIsTakenSaysSo) {
    const OpenFile other = listen_at({"127.0.0.1", 0});
    const Thrown thrown = thrown_by([&] {
        rendezvous_world({.address = to_string(TcpAddress{"127.0.0.1", port_of(other.number)}),
                          .size = 2,
                          .deadline = 1});
    });
    EXPECT_TRUE(holds(thrown.text, "already in use"));
}

TEST(Rendezvous, TakesARankThatIsStartedAgainBeforeAllAreThere) {
    TestRendezvous three(3);
    Thrown of_rank0;
    {
        ChildRank killed(three.of(1), nothing);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        killed.kill(SIGKILL);
    }
    std::thread rank0([&, where = three.of(0)] {
        of_rank0 = thrown_by([&] { rendezvous_world(where)->barrier(); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::vector<std::thread> others;
    for (const int rank : {1, 2})
        others.emplace_back([where = three.of(rank)] {
            EXPECT_EQ(thrown_by([&] { rendezvous_world(where)->barrier(); }).text, "");
        });
    for (auto& other : others) other.join();
    rank0.join();
    EXPECT_EQ(of_rank0.text, "");
}

// Rank 0 notices the end and the restart at the same time.
TEST(Rendezvous, TakesARankThatIsStartedAgainAtOnce) {
    TestRendezvous three(3, 3);
    std::vector<std::thread> others;
    const auto start = [&](int rank) {
        others.emplace_back(
            [where = three.of(rank)] { thrown_by([&] { rendezvous_world(where); }); });
    };
    start(0);
    const Hello rank1{.rank = 1, .size = 3, .job = fnv1a({})};
    std::optional<OpenFile> first(connected_to(three));
    send(first->number, &rank1, sizeof rank1, MSG_NOSIGNAL);
    const OpenFile second = connected_to(three);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    first.reset();
    send(second.number, &rank1, sizeof rank1, MSG_NOSIGNAL);
    start(2);
    Answer answer{.admission = Admission::refused};
    answer_on(second, {}).copy(reinterpret_cast<char*>(&answer), sizeof answer);
    EXPECT_EQ(answer.admission, Admission::admitted) << answer.why;
    shutdown(second.number, SHUT_RDWR);
    for (auto& other : others) other.join();
}

TEST(Rendezvous, ResolvesNames) {
    TestRendezvous two(2);
    Rendezvous by_name = two.of(1);
    by_name.address = to_string(TcpAddress{"localhost", parse_tcp_address(by_name.address).port});
    std::thread rank0([where = two.of(0)] { rendezvous_world(where)->barrier(); });
    EXPECT_EQ(thrown_by([&] { rendezvous_world(by_name)->barrier(); }).text, "");
    rank0.join();
    const Thrown thrown = thrown_by([] {
        rendezvous_world(
            {.address = "tcp://no-such-host.invalid:1", .rank = 1, .size = 2, .deadline = 0.1});
    });
    EXPECT_TRUE(holds(thrown.text, "cannot be resolved"));
}

}  // namespace
}  // namespace tutti
