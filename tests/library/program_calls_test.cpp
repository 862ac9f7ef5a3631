// SPDX-License-Identifier: Apache-2.0
// Memory of the heap that the program maps over, unmaps, moves, discards or protects.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "collectives/heap/arena_heap.hpp"
#include "collectives/heap/next_functions.hpp"
#include "collectives/heap/system_calls.hpp"
#include "tests/library/bytes.hpp"

namespace tutti::heap {
namespace {

constexpr std::size_t a_page = 4096;
constexpr int usual = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

TEST(ProgramPages, AgreeWithANoteForEachPage) {
    std::mt19937 random(1);
    std::vector<PageState> table(500), noted(500);
    ProgramPages pages;
    pages.start(table.data());
    const PageState states[] = {own, replaced, unmapped, protected_as(PROT_READ)};
    for (int i = 0; i < 2000; ++i) {
        const auto first = static_cast<Page>(random() % 500);
        const Pages some{first, static_cast<Page>(1 + random() % (500 - first))};
        const auto begin = noted.begin() + some.first, end = begin + some.count;
        const PageState state = states[random() % 8 % 5 % 4];
        const std::uint64_t changes = *pages.changes();
        const bool is_new = std::any_of(begin, end, [=](PageState was) { return was != state; });
        pages.set(some, state);
        std::fill(begin, end, state);
        EXPECT_EQ(*pages.changes(), changes + (is_new ? 1 : 0));
        EXPECT_TRUE(pages.all_are(some, state));
        EXPECT_EQ(pages.is_empty(), std::all_of(noted.begin(), noted.end(),
                                                [](PageState one) { return one == own; }));
        std::vector<PageState> seen;
        pages.for_each_row({0, 500}, [&](Pages row, PageState in_row) {
            EXPECT_EQ(row.first, seen.size());
            EXPECT_TRUE(seen.empty() || seen.back() != in_row);
            seen.insert(seen.end(), row.count, in_row);
        });
        EXPECT_EQ(seen, noted);
    }
}

class ProgramCalls : public ::testing::Test {
protected:
    ProgramCalls() {
        EXPECT_TRUE(heap.start({.retain = 0, .reserve = std::size_t{1} << 30}));
        witness = static_cast<char*>(heap.allocate(1, 1, Content::any));
    }

    char* allocated(std::size_t bytes = mega) {
        auto* const memory = static_cast<char*>(heap.allocate(bytes, 1, Content::any));
        std::memset(memory, 1, bytes);
        return memory;
    }
    bool is_found(const char* memory, std::size_t bytes = mega) {
        return heap.locate(memory, bytes, place);
    }
    // Returns what peers see at the place where this memory is, or was, found.
    bool peers_see(const char* memory, std::size_t bytes, unsigned char value) {
        std::vector<char> seen(bytes);
        const auto offset = memory - arena_begin();
        EXPECT_EQ(pread(file(), seen.data(), bytes, offset), static_cast<long>(bytes));
        return all_are(seen.data(), bytes, value);
    }
    int file() { return static_cast<int>(witness_place().descriptor); }
    std::size_t bytes_in_memory() {
        struct stat seen {};
        EXPECT_EQ(fstat(file(), &seen), 0);
        return static_cast<std::size_t>(seen.st_blocks) * 512;
    }
    const char* arena_begin() { return witness - witness_place().offset; }
    const tutti_heap_place& witness_place() {
        EXPECT_TRUE(heap.locate(witness, 1, witness_is));
        return witness_is;
    }
    // Whether the next allocation has the heap's own memory at this place.
    void expect_reuse(char* memory, std::size_t bytes = mega) {
        heap.release(memory);
        EXPECT_TRUE(is_found(memory, bytes));
        auto* const again = static_cast<char*>(heap.allocate(bytes, 1, Content::zero));
        EXPECT_EQ(again, memory);
        EXPECT_TRUE(all_are(again, bytes, 0));
        std::memset(again, 7, bytes);
        EXPECT_TRUE(peers_see(again, bytes, 7));
    }

    ArenaHeap heap;
    char* witness = nullptr;
    tutti_heap_place place{}, witness_is{};
};

TEST_F(ProgramCalls, MemoryThatIsMappedOverIsNotFoundUntilItIsFreed) {
    char* const memory = allocated();
    const std::uint64_t changes = *heap.changes();
    EXPECT_EQ(heap.map(memory + a_page, a_page, usual, anonymous | MAP_FIXED, -1, 0),
              memory + a_page);
    EXPECT_GT(*heap.changes(), changes);
    EXPECT_TRUE(all_are(memory + a_page, a_page, 0));
    EXPECT_FALSE(is_found(memory));
    EXPECT_FALSE(is_found(memory + a_page, 1));
    EXPECT_FALSE(is_found(memory + 2 * a_page - 1, 1));
    EXPECT_FALSE(is_found(memory, a_page + 1));
    EXPECT_TRUE(is_found(memory, a_page));
    EXPECT_TRUE(is_found(memory + 2 * a_page, mega - 2 * a_page));
    EXPECT_TRUE(peers_see(memory + a_page, a_page, 0)) << "the pages of the file take memory";
    EXPECT_TRUE(peers_see(memory, a_page, 1));
    expect_reuse(memory);
}

TEST_F(ProgramCalls, ThatFailChangeNothing) {
    char* const memory = allocated();
    const std::uint64_t changes = *heap.changes();
    EXPECT_EQ(heap.map(memory, a_page, usual, MAP_SHARED | MAP_FIXED, -1, 0), MAP_FAILED);
    EXPECT_EQ(heap.map(memory + 1, a_page, usual, anonymous | MAP_FIXED, -1, 0), MAP_FAILED);
    EXPECT_EQ(heap.map(memory, a_page, usual, anonymous | MAP_FIXED_NOREPLACE, -1, 0), MAP_FAILED);
    void* const elsewhere = heap.map(memory, a_page, usual, anonymous, -1, 0);
    EXPECT_NE(elsewhere, memory);
    munmap(elsewhere, a_page);
    EXPECT_EQ(heap.unmap(memory + 1, a_page), -1);
    EXPECT_EQ(heap.unmap(memory, 0), -1);
    EXPECT_EQ(heap.unmap(memory, ~std::size_t{0} - a_page), -1);
    EXPECT_EQ(heap.move(memory, mega, 2 * mega, 0, nullptr), MAP_FAILED);
    EXPECT_EQ(errno, ENOMEM);
    for (const std::size_t none : {std::size_t{0}, SIZE_MAX}) {
        EXPECT_EQ(heap.move(memory, none, mega, MREMAP_MAYMOVE, nullptr), MAP_FAILED);
        EXPECT_EQ(errno, EINVAL);
        EXPECT_EQ(heap.move(memory, mega, none, MREMAP_MAYMOVE, nullptr), MAP_FAILED);
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(heap.move(memory, mega, mega, MREMAP_MAYMOVE | MREMAP_FIXED, memory + a_page),
              MAP_FAILED);
    EXPECT_EQ(heap.protect(memory + 1, a_page, PROT_READ), -1);
    EXPECT_EQ(heap.give_advice(memory + 1, a_page, MADV_DONTNEED), -1);
    EXPECT_EQ(heap.remap(memory, a_page, 0, 0, 0), -1);
    EXPECT_EQ(heap.attach(-1, memory, 0), MAP_FAILED);
    EXPECT_EQ(heap.detach(memory), -1);
    EXPECT_EQ(*heap.changes(), changes);
    EXPECT_TRUE(is_found(memory));
    EXPECT_TRUE(all_are(memory, mega, 1));
}

TEST_F(ProgramCalls, UnmappedMemoryStaysReservedForTheHeap) {
    char* const memory = allocated();
    const std::size_t before = bytes_in_memory();
    EXPECT_EQ(heap.unmap(memory, mega), 0);
    EXPECT_EQ(bytes_in_memory(), before - mega);
    EXPECT_FALSE(is_found(memory));
    void* const other = mmap(memory, a_page, usual, anonymous, -1, 0);
    EXPECT_NE(other, memory);
    munmap(other, a_page);
    // But the program may have it by any of its own calls.
    EXPECT_EQ(heap.map(memory, a_page, usual, anonymous | MAP_FIXED_NOREPLACE, -1, 0), memory);
    EXPECT_EQ(heap.map(memory + a_page, a_page, usual, anonymous, -1, 0), memory + a_page);
    memory[0] = memory[a_page] = 1;
    EXPECT_FALSE(is_found(memory));
    expect_reuse(memory);
}

TEST_F(ProgramCalls, MemoryThatMovesAwayIsACopy) {
    char* const memory = allocated();
    char* const neighbour = allocated();
    auto* const moved =
        static_cast<char*>(heap.move(memory, mega, 2 * mega, MREMAP_MAYMOVE, nullptr));
    ASSERT_NE(moved, MAP_FAILED);
    EXPECT_FALSE(heap.holds(moved));
    EXPECT_TRUE(all_are(moved, mega, 1));
    EXPECT_TRUE(all_are(moved + mega, mega, 0)) << "not the neighbour's pages";
    std::memset(moved, 2, 2 * mega);
    EXPECT_FALSE(is_found(memory, 1));
    expect_reuse(memory);
    EXPECT_TRUE(all_are(moved, 2 * mega, 2));
    EXPECT_TRUE(all_are(neighbour, mega, 1));
    munmap(moved, 2 * mega);
}

TEST_F(ProgramCalls, MemoryThatMovesKeepsItsProtection) {
    char* const memory = allocated();
    EXPECT_EQ(heap.protect(memory, mega, PROT_NONE), 0);
    auto* const moved = static_cast<char*>(heap.move(
        memory, mega, mega, MREMAP_MAYMOVE | MREMAP_FIXED, heap.allocate(mega, 1, Content::any)));
    ASSERT_NE(moved, MAP_FAILED);
    EXPECT_FALSE(is_found(moved));
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], moved, 1), -1) << "it can be read";
    EXPECT_EQ(heap.protect(moved, mega, PROT_READ), 0);
    EXPECT_TRUE(all_are(moved, mega, 1));
    for (const int end : ends) close(end);
    expect_reuse(memory);
    expect_reuse(moved);
}

TEST_F(ProgramCalls, MemoryOfTheProgramMovesAwayAsItIs) {
    char* const memory = allocated();
    heap.map(memory, mega, usual, anonymous | MAP_FIXED, -1, 0);
    memory[5] = 5;
    EXPECT_EQ(heap.move(memory, mega + a_page, mega + a_page, MREMAP_MAYMOVE, nullptr), MAP_FAILED);
    EXPECT_EQ(errno, EFAULT) << "the last page is the heap's";
    auto* const moved =
        static_cast<char*>(heap.move(memory, mega, 2 * mega, MREMAP_MAYMOVE, nullptr));
    ASSERT_NE(moved, MAP_FAILED);
    EXPECT_EQ(moved[5], 5);
    void* const other = mmap(memory, a_page, usual, anonymous, -1, 0);
    EXPECT_NE(other, memory) << "the gap is not reserved";
    munmap(other, a_page);
    munmap(moved, 2 * mega);
    expect_reuse(memory);
}

TEST_F(ProgramCalls, DiscardedMemoryIsZeroForAllAndIsStillFound) {
    char* const memory = allocated();
    EXPECT_EQ(heap.give_advice(memory + a_page, a_page, MADV_DONTNEED), 0);
    EXPECT_TRUE(all_are(memory, a_page, 1));
    EXPECT_TRUE(all_are(memory + a_page, a_page, 0));
    EXPECT_TRUE(all_are(memory + 2 * a_page, mega - 2 * a_page, 1));
    EXPECT_TRUE(peers_see(memory + a_page, a_page, 0));
    EXPECT_TRUE(is_found(memory));
    EXPECT_EQ(heap.give_advice(memory, mega, MADV_FREE), 0);
    EXPECT_EQ(heap.protect(memory, mega, PROT_READ), 0);
    EXPECT_EQ(heap.give_advice(memory, mega, MADV_DONTNEED), 0);
    EXPECT_TRUE(all_are(memory, mega, 0));
}

TEST_F(ProgramCalls, ProtectedMemoryIsNotFoundUntilTheProgramMayWriteItAgain) {
    char* const memory = allocated();
    for (const int protection : {PROT_NONE, PROT_READ, PROT_READ | PROT_EXEC}) {
        EXPECT_EQ(heap.protect(memory + a_page, a_page, protection), 0);
        EXPECT_FALSE(is_found(memory));
        EXPECT_TRUE(is_found(memory, a_page));
        EXPECT_EQ(heap.protect(memory, mega, usual), 0);
        EXPECT_TRUE(is_found(memory));
        EXPECT_TRUE(all_are(memory, mega, 1));
    }
    EXPECT_EQ(heap.protect(memory, mega, PROT_NONE), 0);
    expect_reuse(memory);
}

TEST_F(ProgramCalls, MemoryOfTheProgramIsNotFoundWhateverItsProtection) {
    char* const memory = allocated();
    heap.map(memory, a_page, usual, anonymous | MAP_FIXED, -1, 0);
    EXPECT_EQ(heap.protect(memory, mega, usual), 0);
    EXPECT_FALSE(is_found(memory, 1));
}

// The first pages may be protected when the system comes to one where there is no memory.
TEST_F(ProgramCalls, MemoryIsNotFoundAfterItsProtectionFailed) {
    char* const memory = allocated();
    munmap(memory + 2 * a_page, a_page);  // the heap does not see this
    EXPECT_EQ(heap.protect(memory, mega, PROT_READ), -1);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_FALSE(is_found(memory, 1));
    EXPECT_EQ(heap.protect(memory, a_page, usual), 0);
    EXPECT_TRUE(all_are(memory, a_page, 1));
    expect_reuse(memory);
}

TEST_F(ProgramCalls, GuardedMemoryIsNotFoundUntilItIsFreed) {
    char* const memory = allocated();
    if (heap.give_advice(memory, 2 * a_page, MADV_GUARD_INSTALL) != 0)
        GTEST_SKIP() << "the system has no guards for files";
    EXPECT_FALSE(is_found(memory, 1));
    EXPECT_EQ(heap.protect(memory, mega, usual), 0) << "which removes no guard";
    EXPECT_FALSE(is_found(memory, 1));
    EXPECT_TRUE(is_found(memory + 2 * a_page, mega - 2 * a_page));
    EXPECT_EQ(heap.give_advice(memory, a_page, MADV_GUARD_REMOVE), 0);
    EXPECT_TRUE(all_are(memory, a_page, 0));
    std::memset(memory, 2, a_page);
    auto* const moved =
        static_cast<char*>(heap.move(memory, a_page, a_page, MREMAP_MAYMOVE, nullptr));
    ASSERT_NE(moved, MAP_FAILED);
    EXPECT_TRUE(all_are(moved, a_page, 2));
    munmap(moved, a_page);
    void* const guard = heap.move(memory + a_page, a_page, 2 * a_page, MREMAP_MAYMOVE, nullptr);
    ASSERT_NE(guard, MAP_FAILED);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], guard, 1), -1) << "the guard has not moved";
    for (const int end : ends) close(end);
    munmap(guard, 2 * a_page);
    expect_reuse(memory);
}

TEST_F(ProgramCalls, GuardsThatFailAreRemoved) {
    char* const memory = allocated();
    munmap(memory + 2 * a_page, a_page);  // the heap does not see this
    EXPECT_EQ(heap.give_advice(memory, mega, MADV_GUARD_INSTALL), -1);
    EXPECT_TRUE(is_found(memory, 2 * a_page));
    EXPECT_TRUE(all_are(memory, 2 * a_page, 1));
}

// Another thread maps memory right after the program has left a gap.
char* gap = nullptr;
void* take_gap() { return mmap(gap, a_page, usual, anonymous | MAP_FIXED, -1, 0); }
void* move_and_take_gap(void* from, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
    void* const moved = mremap(from, bytes, new_bytes, flags);
    *static_cast<char*>(take_gap()) = 9;
    return moved;
}
int detach_and_take_gap(const void* address) {
    const int result = shmdt(address);
    *static_cast<char*>(take_gap()) = 9;
    return result;
}

class ProgramCallsAtOnce : public ProgramCalls {
protected:
    ~ProgramCallsAtOnce() override { next::calls = before; }
    void expect_gap_is_lost(char* memory) {
        EXPECT_EQ(heap.map(gap, a_page, usual, anonymous | MAP_FIXED, -1, 0), gap);
        *gap = 9;  // in the same memory, for all that the heap knows
        heap.release(memory);
        EXPECT_EQ(*gap, 9) << "the heap has mapped its own over it";
        EXPECT_NE(heap.allocate(mega, 1, Content::any), memory);
        auto* const moved =
            static_cast<char*>(heap.move(gap, a_page, 2 * a_page, MREMAP_MAYMOVE, nullptr));
        ASSERT_NE(moved, MAP_FAILED);
        EXPECT_EQ(*moved, 9) << "the other thread cannot move its memory";
        munmap(moved, 2 * a_page);
    }

    next::Calls before = next::calls;
};

TEST_F(ProgramCallsAtOnce, AGapThatAMoveLeavesIsLost) {
    char* const memory = allocated();
    gap = memory + 2 * a_page;
    heap.map(memory, 4 * a_page, usual, anonymous | MAP_FIXED, -1, 0);
    next::calls.mremap = move_and_take_gap;
    void* const moved = heap.move(memory, 4 * a_page, mega, MREMAP_MAYMOVE, nullptr);
    next::calls = before;
    ASSERT_NE(moved, MAP_FAILED);
    munmap(moved, mega);
    expect_gap_is_lost(memory);
}

TEST_F(ProgramCallsAtOnce, AGapOfADetachedSegmentIsLost) {
    char* const memory = allocated();
    gap = memory + 2 * a_page;
    const int segment = shmget(IPC_PRIVATE, 4 * a_page, IPC_CREAT | 0600);
    EXPECT_EQ(heap.attach(segment, memory, SHM_REMAP), memory);
    shmctl(segment, IPC_RMID, nullptr);
    next::calls.shmdt = detach_and_take_gap;
    EXPECT_EQ(heap.detach(memory), 0);
    next::calls = before;
    expect_gap_is_lost(memory);
}

TEST_F(ProgramCalls, AllOfASegmentIsReservedThoughSomeIsMappedOver) {
    char* const memory = allocated();
    const int segment = shmget(IPC_PRIVATE, 4 * a_page, IPC_CREAT | 0600);
    EXPECT_EQ(heap.attach(segment, memory, SHM_REMAP), memory);
    shmctl(segment, IPC_RMID, nullptr);
    heap.map(memory + a_page, a_page, usual, anonymous | MAP_FIXED, -1, 0);
    memory[a_page] = 5;
    EXPECT_EQ(heap.unmap(memory + 2 * a_page, a_page), 0);
    EXPECT_EQ(heap.detach(memory), 0);
    EXPECT_EQ(memory[a_page], 5);
    for (const std::size_t page : {0, 2, 3}) {
        void* const other = mmap(memory + page * a_page, a_page, usual, anonymous, -1, 0);
        EXPECT_NE(other, memory + page * a_page) << "the gap is not reserved";
        munmap(other, a_page);
    }
    expect_reuse(memory);
}

TEST_F(ProgramCalls, AllThatMemoryOfTheProgramShrinksByIsReserved) {
    char* const memory = allocated();
    heap.map(memory, 4 * a_page, usual, anonymous | MAP_FIXED, -1, 0);
    EXPECT_EQ(heap.move(memory, 4 * a_page, a_page + 1, 0, nullptr), memory);
    memory[a_page] = 5;
    void* const other = mmap(memory + 2 * a_page, a_page, usual, anonymous, -1, 0);
    EXPECT_NE(other, memory + 2 * a_page) << "the gap is not reserved";
    munmap(other, a_page);
    expect_reuse(memory);
}

TEST_F(ProgramCalls, MemoryThatMovesIntoTheHeapLeavesErrnoAlone) {
    char* const memory = allocated();
    void* const other = mmap(nullptr, a_page, usual, anonymous, -1, 0);
    errno = 0;
    EXPECT_EQ(heap.move(other, a_page, a_page, MREMAP_MAYMOVE | MREMAP_FIXED, memory), memory);
    EXPECT_EQ(errno, 0);
    EXPECT_FALSE(is_found(memory, 1));
    expect_reuse(memory);
}

TEST_F(ProgramCalls, AShrunkMappingLeavesMemoryOfTheHeap) {
    char* const memory = allocated(2 * mega);
    heap.map(memory + mega / 2, mega, usual, anonymous | MAP_FIXED, -1, 0);
    EXPECT_TRUE(heap.resize(memory, mega));
    EXPECT_FALSE(is_found(memory + mega / 2, mega / 2));
    EXPECT_TRUE(is_found(memory + mega, mega));
    expect_reuse(memory);
}

TEST_F(ProgramCalls, MemoryThatCannotBeRestoredIsNeverUsedAgain) {
    char* const memory = allocated();
    heap.map(memory, mega, usual, anonymous | MAP_FIXED, -1, 0);
    const int kept = file(), closed = dup(kept);
    close(kept);
    heap.release(memory);
    dup2(closed, kept);
    close(closed);
    EXPECT_NE(heap.allocate(mega, 1, Content::any), memory);
    EXPECT_FALSE(is_found(memory));
}

}  // namespace
}  // namespace tutti::heap
