// SPDX-License-Identifier: Apache-2.0
// Tests access of another process to this process's heap.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "collectives/world/heap.hpp"
#include "tests/library/in_arena.hpp"

namespace tutti {
namespace {

template <class Value>
void send(int socket, const Value& value) {
    EXPECT_EQ(write(socket, &value, sizeof value), static_cast<ssize_t>(sizeof value));
}

template <class Value>
Value receive(int socket) {
    Value value{};
    EXPECT_EQ(read(socket, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
}

HeapPlace place_of(const void* memory, std::size_t bytes) {
    HeapPlace place{};
    EXPECT_EQ(tutti_heap_locate(memory, bytes, &place), 1);
    return place;
}

// Adds 1 to each byte of the places that it receives, and sends back where it has mapped the arena.
void peer(int socket) {
    PeerArenas arenas;
    for (;;) {
        const auto place = receive<HeapPlace>(socket);
        if (place.bytes == 0) return;
        std::byte* const there = arenas.address_of(place);
        for (std::size_t i = 0; i < place.bytes; ++i)
            there[i] = static_cast<std::byte>(static_cast<unsigned char>(there[i]) + 1);
        send(socket, there - place.offset);
    }
}

TEST(HeapPeers, ReadAndWriteAGrowingArena) {
    std::array<int, 2> sockets{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    void* const first = malloc(mega);
    const pid_t child = fork();
    if (child == 0) {
        peer(sockets[1]);
        _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    const auto let_peer_add = [&](const void* memory, std::size_t bytes) {
        send(sockets[0], place_of(memory, bytes));
        return receive<std::byte*>(sockets[0]);
    };
    std::memset(first, 10, mega);
    std::byte* const begin = let_peer_add(first, mega);
    EXPECT_TRUE(all_are(first, mega, 11));
    const auto before = place_of(first, mega);
    void* const second = malloc(before.arena_bytes);  // for which there is no room yet
    const auto after = place_of(second, before.arena_bytes);
    EXPECT_GT(after.arena_bytes, before.arena_bytes);
    std::memset(static_cast<char*>(second) + before.arena_bytes - mega, 20, mega);
    EXPECT_EQ(let_peer_add(static_cast<char*>(second) + before.arena_bytes - mega, mega), begin)
        << "it is mapped once";
    EXPECT_TRUE(all_are(static_cast<char*>(second) + before.arena_bytes - mega, mega, 21));
    EXPECT_EQ(let_peer_add(first, 1), begin);
    EXPECT_EQ(*static_cast<char*>(first), 12);
    send(sockets[0], HeapPlace{});
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    for (void* const memory : {first, second}) free(memory);
    for (const int socket : sockets) close(socket);
}

}  // namespace
}  // namespace tutti
