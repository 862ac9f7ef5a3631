// SPDX-License-Identifier: Apache-2.0
// Tests malloc and related functions in a program that is linked with the heap.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "tests/library/in_arena.hpp"

namespace tutti {
namespace {

constexpr std::size_t threshold = 64 << 10;
// Volatile, because the compiler rejects allocations that cannot succeed.
volatile std::size_t most_positive = PTRDIFF_MAX, everything = SIZE_MAX;

struct Maker {
    const char* name;
    std::function<void*(std::size_t)> make;
    std::function<void(void*)> drop = [](void* memory) { free(memory); };
};

void* by_posix_memalign(std::size_t alignment, std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, alignment, bytes), 0);
    return memory;
}

const Maker makers[] = {
    {"malloc", [](std::size_t bytes) { return malloc(bytes); }},
    {"calloc", [](std::size_t bytes) { return calloc(bytes / 8, 8); }},
    {"realloc", [](std::size_t bytes) { return realloc(nullptr, bytes); }},
    {"reallocarray", [](std::size_t bytes) { return reallocarray(nullptr, bytes / 8, 8); }},
    {"posix_memalign", [](std::size_t bytes) { return by_posix_memalign(64, bytes); }},
    {"aligned_alloc", [](std::size_t bytes) { return aligned_alloc(64, bytes); }},
    {"memalign", [](std::size_t bytes) { return memalign(64, bytes); }},
    {"valloc", [](std::size_t bytes) { return valloc(bytes); }},
    {"pvalloc", [](std::size_t bytes) { return pvalloc(bytes); }},
    {"new", [](std::size_t bytes) { return operator new(bytes); },
     [](void* memory) { operator delete(memory); }},
    {"new, sized delete", [](std::size_t bytes) { return operator new(bytes); },
     [](void* memory) { operator delete(memory, threshold); }},
    {"new[]", [](std::size_t bytes) { return operator new[](bytes); },
     [](void* memory) { operator delete[](memory); }},
    {"new, nothrow", [](std::size_t bytes) { return operator new(bytes, std::nothrow); },
     [](void* memory) { operator delete(memory, std::nothrow); }},
    {"new[], nothrow", [](std::size_t bytes) { return operator new[](bytes, std::nothrow); },
     [](void* memory) { operator delete[](memory, std::nothrow); }},
    {"new, aligned", [](std::size_t bytes) { return operator new(bytes, std::align_val_t(128)); },
     [](void* memory) { operator delete(memory, std::align_val_t(128)); }},
    {"new[], aligned",
     [](std::size_t bytes) { return operator new[](bytes, std::align_val_t(128)); },
     [](void* memory) { operator delete[](memory, std::align_val_t(128)); }},
    {"new, aligned, nothrow",
     [](std::size_t bytes) { return operator new(bytes, std::align_val_t(128), std::nothrow); },
     [](void* memory) { operator delete(memory, std::align_val_t(128), std::nothrow); }},
};

TEST(HeapFunctions, AllocateAnySizeInTheArenaOnRequest) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{5000}, threshold, std::size_t{3} << 20})
        for (const std::size_t alignment : {std::size_t{1}, std::size_t{2} << 20}) {
            void* const memory = tutti_heap_allocate(alignment, bytes);
            EXPECT_TRUE(in_arena(memory, bytes)) << bytes;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
            std::memset(memory, 1, bytes);
            tutti_heap_release(memory);
        }
    EXPECT_EQ(tutti_heap_allocate(1, everything), nullptr);
    tutti_heap_release(nullptr);
}

TEST(HeapFunctions, AllocateLargeBlocksInTheArena) {
    for (const Maker& maker : makers) {
        SCOPED_TRACE(maker.name);
        void* const large = maker.make(threshold);
        EXPECT_TRUE(in_arena(large, threshold));
        std::memset(large, 1, threshold);
        maker.drop(large);
        const std::size_t below = std::string(maker.name) == "pvalloc" ? 100 : threshold - 128;
        void* const small = maker.make(below);
        EXPECT_FALSE(in_arena(small, 1));
        std::memset(small, 1, below);
        maker.drop(small);
    }
}

TEST(HeapFunctions, AlignAsAsked) {
    for (std::size_t alignment = sizeof(void*); alignment <= std::size_t{1} << 32; alignment *= 2)
        for (void* const memory :
             {by_posix_memalign(alignment, threshold), aligned_alloc(alignment, threshold),
              memalign(alignment, threshold)}) {
            EXPECT_TRUE(in_arena(memory, threshold));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u) << alignment;
            free(memory);
        }
    void* const rounded = memalign(100, threshold);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(rounded) % 128, 0u);
    free(rounded);
    for (void* const memory : {valloc(threshold + 1), pvalloc(threshold + 1)}) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
        free(memory);
    }
}

TEST(HeapFunctions, RejectInvalidAlignments) {
    for (const std::size_t alignment : {0, 1, 4, 24, 100}) {
        void* memory = &memory;
        errno = 7;
        EXPECT_EQ(posix_memalign(&memory, alignment, mega), EINVAL) << alignment;
        EXPECT_EQ(memory, &memory);
        EXPECT_EQ(errno, 7);
    }
    volatile std::size_t three = 3;
    errno = 0;
    EXPECT_EQ(aligned_alloc(three, mega), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(HeapFunctions, ReportOutOfMemory) {
    const auto expect_none = [](void* memory) {
        EXPECT_EQ(memory, nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
    };
    errno = 0;
    for (const std::size_t bytes : {std::size_t{most_positive}, std::size_t{everything}}) {
        expect_none(malloc(bytes));
        expect_none(calloc(1, bytes));
        expect_none(calloc(bytes, 3));
        expect_none(realloc(nullptr, bytes));
        expect_none(aligned_alloc(64, bytes));
        expect_none(memalign(4096, bytes));
        expect_none(valloc(bytes));
        expect_none(pvalloc(bytes));
        void* memory = &memory;
        EXPECT_EQ(posix_memalign(&memory, 64, bytes), ENOMEM);
        EXPECT_EQ(memory, &memory);
        EXPECT_THROW(operator delete(operator new(bytes)), std::bad_alloc);
        EXPECT_EQ(operator new(bytes, std::nothrow), nullptr);
        errno = 0;
    }
    // SIZE_MAX is not tested here, because some C++ libraries round it up to 0.
    EXPECT_THROW(operator delete(operator new(most_positive, std::align_val_t(128)),
                                 std::align_val_t(128)),
                 std::bad_alloc);
    // The product overflows to a small number.
    expect_none(calloc((everything / 8) + 1, 8));
    void* volatile same = malloc(mega);  // volatile, or the compiler warns that it is freed
    std::memset(same, 5, mega);
    expect_none(reallocarray(same, (everything / 8) + 1, 8));
    expect_none(realloc(same, most_positive));
    EXPECT_TRUE(all_are(same, mega, 5));
    free(same);
}

TEST(HeapFunctions, FreeLeavesTheErrorNumber) {
    free(nullptr);
    for (const std::size_t bytes :
         {std::size_t{100}, mega, 300 * mega}) {  // the last one is returned to the system
        void* const memory = malloc(bytes);
        errno = 11;
        free(memory);
        EXPECT_EQ(errno, 11);
    }
}

TEST(HeapFunctions, ReallocKeepsTheContent) {
    std::size_t bytes = 1000;
    auto* memory = static_cast<unsigned char*>(malloc(bytes));
    unsigned char mark = 1;  // differs each time, so that reused memory is not mistaken for it
    std::memset(memory, mark, bytes);
    // A block after it makes it move sometimes.
    for (const std::size_t now : {std::size_t{50000}, threshold, 2 * mega, 70 * mega, 3 * mega,
                                  threshold, std::size_t{5000}, mega, std::size_t{1}, 9 * mega}) {
        void* const in_the_way = malloc(threshold);
        memory = static_cast<unsigned char*>(realloc(memory, now));
        ASSERT_NE(memory, nullptr);
        const std::size_t kept = std::min(bytes, now);
        EXPECT_TRUE(all_are(memory, kept, mark)) << bytes << " to " << now;
        EXPECT_GE(malloc_usable_size(memory), now);
        std::memset(memory, ++mark, now);
        bytes = now;
        free(in_the_way);
    }
    free(memory);
}

TEST(HeapFunctions, ReallocMovesTheContentIfABlockFollows) {
    std::vector<char*> blocks;
    do blocks.push_back(static_cast<char*>(malloc(mega)));
    while (blocks.size() < 2 || blocks.back() != blocks[blocks.size() - 2] + mega);
    char*& block = blocks[blocks.size() - 2];
    const auto before = reinterpret_cast<std::uintptr_t>(block);
    std::memset(block, 77, mega);
    block = static_cast<char*>(realloc(block, mega + 1));
    EXPECT_NE(reinterpret_cast<std::uintptr_t>(block), before);
    EXPECT_TRUE(all_are(block, mega, 77));
    for (char* const each : blocks) free(each);
}

TEST(HeapFunctions, ReallocResizesInPlace) {
    void* const memory = malloc(2 * mega);
    EXPECT_EQ(realloc(memory, mega), memory);
    EXPECT_EQ(malloc_usable_size(memory), mega);
    EXPECT_EQ(realloc(memory, 2 * mega), memory);
    EXPECT_EQ(realloc(memory, 0), nullptr) << "frees it, like the C library";
}

TEST(HeapFunctions, AllUsableBytesCanBeWritten) {
    EXPECT_EQ(malloc_usable_size(nullptr), 0u);
    void* const memory = malloc(threshold + 1);
    EXPECT_EQ(malloc_usable_size(memory), threshold + 4096);
    std::memset(memory, 1, malloc_usable_size(memory));
    free(memory);
}

TEST(HeapFunctions, NewCallsTheHandler) {
    static int handled;
    handled = 0;
    std::set_new_handler([] {
        if (++handled == 3) std::set_new_handler(nullptr);
    });
    EXPECT_THROW(operator delete(operator new(everything / 2)), std::bad_alloc);
    EXPECT_EQ(handled, 3);
}

}  // namespace
}  // namespace tutti
