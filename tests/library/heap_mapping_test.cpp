// SPDX-License-Identifier: Apache-2.0
// Tests mmap and related functions in a program that is linked with the heap.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/library/in_arena.hpp"

namespace tutti {
namespace {

constexpr std::size_t page = 4096;
constexpr int usual = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

char* allocated() {
    auto* const memory = static_cast<char*>(malloc(mega));
    std::memset(memory, 1, mega);
    EXPECT_TRUE(in_arena(memory, mega));
    return memory;
}

// Checks that the call makes memory unreachable until it is freed.
template <class Call>
void expect_noted(const char* name, Call&& call) {
    SCOPED_TRACE(name);
    char* const memory = allocated();
    call(memory);
    EXPECT_FALSE(in_arena(memory, mega));
    free(memory);
    char* const again = allocated();
    EXPECT_TRUE(all_are(again, mega, 1));
    free(again);
}

TEST(HeapMapping, IsRecordedByAllFunctions) {
    expect_noted("mmap", [](char* memory) {
        EXPECT_EQ(mmap(memory, page, usual, anonymous | MAP_FIXED, -1, 0), memory);
    });
    expect_noted("mmap64", [](char* memory) {
        EXPECT_EQ(mmap64(memory, page, usual, anonymous | MAP_FIXED, -1, 0), memory);
    });
    expect_noted("munmap", [](char* memory) { EXPECT_EQ(munmap(memory, page), 0); });
    expect_noted("mremap of it", [](char* memory) {
        void* const moved = mremap(memory, page, 2 * page, MREMAP_MAYMOVE);
        EXPECT_TRUE(all_are(moved, page, 1));
        EXPECT_EQ(munmap(moved, 2 * page), 0);
    });
    expect_noted("mremap over it", [](char* memory) {
        void* const other = mmap(nullptr, page, usual, anonymous, -1, 0);
        // UCX 1.13 replaces mremap by one that does not take the new address.
        void* const moved = mremap(other, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, memory);
        if (moved == memory) return;
        if (moved != MAP_FAILED) munmap(moved, page);
        EXPECT_EQ(munmap(memory, page), 0);
    });
    expect_noted("mprotect", [](char* memory) { EXPECT_EQ(mprotect(memory, page, PROT_READ), 0); });
    expect_noted("pkey_mprotect",
                 [](char* memory) { EXPECT_EQ(pkey_mprotect(memory, page, PROT_READ, -1), 0); });
    expect_noted("shmat, shmdt", [](char* memory) {
        const int segment = shmget(IPC_PRIVATE, page, IPC_CREAT | 0600);
        EXPECT_EQ(shmat(segment, memory, SHM_REMAP), memory);
        EXPECT_EQ(shmdt(memory), 0);
        EXPECT_EQ(shmat(segment, memory, 0), memory);
        shmctl(segment, IPC_RMID, nullptr);
    });
}

TEST(HeapMapping, DiscardedMemoryIsZero) {
    char* const memory = allocated();
    EXPECT_EQ(madvise(memory, mega / 2, MADV_DONTNEED), 0);
    EXPECT_TRUE(all_are(memory, mega / 2, 0));
    EXPECT_TRUE(all_are(memory + mega / 2, mega / 2, 1));
    EXPECT_TRUE(in_arena(memory, mega));
    errno = 0;
    EXPECT_EQ(remap_file_pages(memory, page, 0, 0, 0), -1);
    EXPECT_EQ(errno, EINVAL);
    free(memory);
}

TEST(HeapMapping, OtherMemoryBehavesAsUsual) {
    auto* const memory = static_cast<char*>(mmap(nullptr, 4 * page, usual, anonymous, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    memory[0] = 1;
    EXPECT_EQ(mprotect(memory, page, PROT_READ), 0);
    EXPECT_EQ(pkey_mprotect(memory, page, usual, -1), 0);
    EXPECT_EQ(madvise(memory, page, MADV_DONTNEED), 0);
    EXPECT_EQ(memory[0], 0);
    void* const moved = mremap(memory, 4 * page, 8 * page, MREMAP_MAYMOVE);
    EXPECT_NE(moved, MAP_FAILED);
    EXPECT_EQ(munmap(moved, 8 * page), 0);
    errno = 0;
    EXPECT_EQ(mmap(nullptr, 0, usual, anonymous, -1, 0), MAP_FAILED);
    EXPECT_EQ(errno, EINVAL);
}

// Open MPI overwrites the code of the functions that it looks up.
TEST(HeapMapping, DlsymFindsTheFunctionsOfTheCLibrary) {
    for (const char* name : {"mmap", "munmap", "mremap", "madvise", "mprotect", "shmat", "shmdt"}) {
        Dl_info at{};
        ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, name), &at), 0);
        EXPECT_EQ(std::string(at.dli_fname).find("tutti_heap"), std::string::npos) << name;
    }
}

// The child gets a copy of the heap's memory. The program's mappings behave as usual at a fork.
TEST(HeapMapping, AForkedChildSeesTheSameMemory) {
    char* const memory = allocated();
    char *const shared = memory, *const gap = shared + page, *const forbidden = gap + page;
    char *const given = forbidden + page, *const rest = given + page;
    ASSERT_NE(mmap(shared, page, usual, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
    ASSERT_NE(mmap(given, page, usual, anonymous | MAP_FIXED, -1, 0), MAP_FAILED);
    shared[0] = given[0] = 5;
    ASSERT_EQ(munmap(gap, page), 0);
    ASSERT_EQ(mprotect(forbidden, page, PROT_NONE), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (shared[0] != 5 || given[0] != 5 || !all_are(rest, mega - 4 * page, 1)) _exit(1);
        int ends[2];
        if (pipe(ends) != 0 || write(ends[1], forbidden, 1) != -1) _exit(2);
        if (mprotect(forbidden, page, PROT_READ) != 0 || !all_are(forbidden, page, 1)) _exit(3);
        shared[0] = given[0] = rest[0] = 6;
        free(memory);
        auto* const again = static_cast<char*>(calloc(1, mega));
        if (again != memory || !all_are(again, mega, 0)) _exit(4);
        std::memset(again, 7, mega);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(shared[0], 6);
    EXPECT_EQ(given[0], 5);
    EXPECT_TRUE(all_are(rest, mega - 4 * page, 1));
    free(memory);
}

TEST(HeapMapping, AForkedChildKeepsGuards) {
    constexpr int install = 102, remove = 103;  // the headers of some C libraries lack them
    char* const memory = allocated();
    char *const removed = memory, *const guard = removed + page, *const rest = guard + page;
    if (madvise(memory, 2 * page, install) != 0) {
        free(memory);
        GTEST_SKIP() << "the system has no guards for files";
    }
    ASSERT_EQ(madvise(removed, page, remove), 0);
    ASSERT_EQ(mprotect(guard, page, usual), 0);
    std::memset(removed, 2, page);
    const pid_t child = fork();
    if (child == 0) {
        int ends[2];
        if (pipe(ends) != 0 || write(ends[1], guard, 1) != -1) _exit(1);
        if (write(ends[1], removed, 1) != 1) _exit(2);
        if (!all_are(removed, page, 2) || !all_are(rest, mega - 2 * page, 1)) _exit(3);
        removed[0] = 3;
        if (madvise(guard, page, remove) != 0 || !all_are(guard, page, 0)) _exit(4);
        free(memory);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(all_are(removed, page, 2));
    free(memory);
}

TEST(HeapMapping, AStackThatTheProgramMappedMayFork) {
    char* const memory = allocated();
    ASSERT_NE(mmap(memory, mega, usual, anonymous | MAP_STACK | MAP_FIXED, -1, 0), MAP_FAILED);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, mega);
    pthread_t thread{};
    static int status = 1;
    const auto forks = [](void*) -> void* {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, &status, 0);
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, forks, nullptr), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_EQ(status, 0);
    free(memory);
}

}  // namespace
}  // namespace tutti
