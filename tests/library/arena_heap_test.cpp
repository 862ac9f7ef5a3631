// SPDX-License-Identifier: Apache-2.0
// Tests the heap as an object. The program keeps its own allocator, so this also runs with
// sanitizers.
#include "collectives/heap/arena_heap.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/library/bytes.hpp"

namespace {
bool lseek_works = true;
}  // namespace

// Replaces the C library's function in this program.
extern "C" off_t lseek(int file, off_t offset, int whence) noexcept {
    if (lseek_works) return syscall(SYS_lseek, file, offset, whence);
    errno = EPERM;
    return -1;
}

namespace tutti::heap {
namespace {

constexpr std::size_t page = 4096, giga = 1 << 30;

std::unique_ptr<ArenaHeap> heap_of(const Settings& settings) {
    auto heap = std::make_unique<ArenaHeap>();
    EXPECT_TRUE(heap->start(settings));
    return heap;
}

tutti_heap_place place_of(const ArenaHeap& heap, const void* memory, std::size_t bytes = 1) {
    tutti_heap_place place{};
    EXPECT_TRUE(heap.locate(memory, bytes, place));
    return place;
}

// Returns how much memory the arena's file takes.
std::size_t bytes_in_memory(const ArenaHeap& heap, const void* memory) {
    struct stat seen {};
    EXPECT_EQ(fstat(static_cast<int>(place_of(heap, memory).descriptor), &seen), 0);
    return static_cast<std::size_t>(seen.st_blocks) * 512;
}

TEST(ArenaHeap, GivesMemoryAtEveryAlignment) {
    const auto heap = heap_of({.reserve = giga});
    for (std::size_t alignment = 1; alignment <= 64 * mega; alignment *= 2)
        for (const std::size_t bytes : {std::size_t{1}, page, 3 * page + 1, 2 * mega}) {
            auto* const memory = heap->allocate(bytes, alignment, Content::any);
            ASSERT_NE(memory, nullptr) << alignment;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
            EXPECT_GE(heap->usable_bytes(memory), bytes);
            std::memset(memory, 1, bytes);
        }
}

TEST(ArenaHeap, ClearsReusedMemory) {
    const auto heap = heap_of({.retain = 4 * mega, .reserve = giga});
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = 1 + random() % (3 * mega);
        auto* const memory = heap->allocate(bytes, 1, Content::zero);
        EXPECT_TRUE(all_are(memory, bytes, 0)) << i;
        std::memset(memory, 1, heap->usable_bytes(memory));
        heap->release(memory);
    }
}

TEST(ArenaHeap, DoesNotClearFreshMemory) {
    const auto heap = heap_of({.reserve = giga});
    auto* const memory = heap->allocate(100 * mega, 1, Content::zero);
    EXPECT_EQ(bytes_in_memory(*heap, memory), 0u);
}

TEST(ArenaHeap, ReturnsFreedMemoryBeyondTheRetainedAmount) {
    const auto heap = heap_of({.retain = 8 * mega, .reserve = giga});
    // Where the system gives huge pages to shared memory, one of them may be used in part.
    constexpr double huge_page = 2 * mega;
    std::vector<void*> blocks;
    for (int i = 0; i < 20; ++i) {
        blocks.push_back(heap->allocate(mega, 1, Content::any));
        std::memset(blocks.back(), 1, mega);
        heap->allocate(1, 1, Content::any);  // separates them
    }
    void* const witness = heap->allocate(1, 1, Content::any);
    EXPECT_NEAR(bytes_in_memory(*heap, witness), 20 * mega, huge_page);
    for (void* const block : blocks) heap->release(block);
    EXPECT_NEAR(bytes_in_memory(*heap, witness), 8 * mega, huge_page);
    // Retained memory is reused.
    for (int i = 0; i < 8; ++i) std::memset(heap->allocate(mega, 1, Content::any), 1, mega);
    EXPECT_NEAR(bytes_in_memory(*heap, witness), 8 * mega, huge_page);
}

TEST(ArenaHeap, ShrinksInPlaceAndReturnsTheRest) {
    const auto heap = heap_of({.retain = 0, .reserve = giga});
    auto* const memory = heap->allocate(4 * mega, 1, Content::any);
    std::memset(memory, 1, 4 * mega);
    EXPECT_TRUE(heap->resize(memory, mega));
    EXPECT_EQ(heap->usable_bytes(memory), mega);
    EXPECT_EQ(bytes_in_memory(*heap, memory), mega);
}

TEST(ArenaHeap, GrowsInPlaceIntoAFreeNeighbour) {
    const auto heap = heap_of({.reserve = giga});
    auto* const memory = heap->allocate(mega, 1, Content::any);
    auto* const neighbour = heap->allocate(mega, 1, Content::any);
    heap->allocate(mega, 1, Content::any);
    EXPECT_FALSE(heap->resize(memory, 2 * mega));
    heap->release(neighbour);
    EXPECT_TRUE(heap->resize(memory, 2 * mega));
    EXPECT_FALSE(heap->resize(memory, 2 * mega + 1));
}

TEST(ArenaHeap, GrowsTheLastBlockWithTheArena) {
    const auto heap = heap_of({.reserve = giga});
    auto* const memory = heap->allocate(mega, 1, Content::any);
    EXPECT_TRUE(heap->resize(memory, giga / 2));
    EXPECT_TRUE(heap->resize(memory, giga));
    EXPECT_FALSE(heap->resize(memory, giga + 1));
    std::memset(memory, 1, 64);
    static_cast<char*>(memory)[giga - 1] = 1;
}

TEST(ArenaHeap, AllocatesAllOfItsRange) {
    const auto heap = heap_of({.reserve = 100 * mega});
    std::vector<void*> blocks;
    while (auto* const memory = heap->allocate(mega, 1, Content::any)) blocks.push_back(memory);
    EXPECT_EQ(blocks.size(), 100u);
    EXPECT_EQ(heap->allocate(101 * mega, 1, Content::any), nullptr);
    EXPECT_EQ(heap->allocate(~std::size_t{0}, 1, Content::any), nullptr);
    EXPECT_EQ(heap->allocate(1, std::size_t{1} << 63, Content::any), nullptr);
    for (void* const block : blocks) heap->release(block);
    EXPECT_NE(heap->allocate(100 * mega, 1, Content::any), nullptr);
}

TEST(ArenaHeap, GrowsOnlyByTheMissingAmount) {
    const auto heap = heap_of({.reserve = 100 * mega});
    void* const first = heap->allocate(40 * mega, 1, Content::any);
    EXPECT_EQ(place_of(*heap, first).arena_bytes, 64 * mega);
    EXPECT_NE(heap->allocate(60 * mega, 1, Content::any), nullptr);
}

TEST(ArenaHeap, StillAllocatesLessAfterARefusal) {
    const auto heap = heap_of({.reserve = giga});
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_AS, &none);
    const void* const refused = heap->allocate(500 * mega, 1, Content::any);
    setrlimit(RLIMIT_AS, &before);
    EXPECT_EQ(refused, nullptr);
    EXPECT_NE(heap->allocate(100 * mega, 1, Content::any), nullptr);
}

TEST(ArenaFile, CopiesAllIfTheSystemCannotFindHoles) {
    ArenaFile file;
    ASSERT_TRUE(file.open(giga, AfterFork::copy));
    ASSERT_TRUE(file.grow(2 * page));
    std::memset(file.begin() + page, 1, page);
    std::vector<std::byte> copy(2 * page, std::byte{2});
    lseek_works = false;
    file.copy_out(0, 2 * page, copy.data());
    lseek_works = true;
    EXPECT_TRUE(all_are(copy.data(), page, 0));
    EXPECT_TRUE(all_are(copy.data() + page, page, 1));
}

// Half of the range is dirty and half is zero, so no extent of one kind is large enough.
TEST(ArenaHeap, ReturnsRetainedMemoryToMakeRoom) {
    const auto heap = heap_of({.retain = 64 * mega, .reserve = 64 * mega});
    auto* const memory = heap->allocate(32 * mega, 1, Content::any);
    std::memset(memory, 1, 32 * mega);
    heap->release(memory);
    auto* const all = heap->allocate(64 * mega, 1, Content::zero);
    ASSERT_NE(all, nullptr);
    EXPECT_TRUE(all_are(all, 64 * mega, 0));
}

TEST(ArenaHeap, LocatesMemoryInItsFile) {
    const auto heap = heap_of({.reserve = giga});
    auto* const memory = static_cast<char*>(heap->allocate(mega, 1, Content::any));
    std::memcpy(memory + 70000, "here", 5);
    const auto place = place_of(*heap, memory + 70000, 5);
    char read[5] = {};
    ASSERT_EQ(pread(static_cast<int>(place.descriptor), read, 5, static_cast<off_t>(place.offset)),
              5);
    EXPECT_STREQ(read, "here");
    EXPECT_EQ(place.process, getpid());
    EXPECT_EQ(place.bytes, 5u);
    EXPECT_EQ(place.arena_most, giga);
    struct stat seen {};
    ASSERT_EQ(fstat(static_cast<int>(place.descriptor), &seen), 0);
    EXPECT_EQ(place.arena_bytes, static_cast<std::uint64_t>(seen.st_size));
    EXPECT_EQ(place.device, seen.st_dev);
    EXPECT_EQ(place.inode, seen.st_ino);
    EXPECT_NE(ftruncate(static_cast<int>(place.descriptor), 0), 0) << "peers rely on its size";
    tutti_heap_place unused{};
    char* const begin = memory - place.offset + 70000;
    EXPECT_TRUE(heap->locate(begin, place.arena_bytes, unused));
    EXPECT_FALSE(heap->locate(begin, place.arena_bytes + 1, unused));
    EXPECT_FALSE(heap->locate(begin - 1, 1, unused));
    EXPECT_FALSE(heap->locate(begin + place.arena_bytes, 1, unused));
    EXPECT_FALSE(heap->locate(begin + 1, ~std::size_t{0}, unused));
    EXPECT_FALSE(heap->locate(&place, 1, unused));
}

}  // namespace
}  // namespace tutti::heap
