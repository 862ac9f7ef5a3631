// SPDX-License-Identifier: Apache-2.0
// Tests forked children, which get a copy of the heap.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "collectives/world/heap.hpp"
#include "tests/collectives/rendezvous/ranks.hpp"
#include "tests/library/in_arena.hpp"

namespace tutti {
namespace {

// Runs a function in a child, after `meanwhile` in the parent. Returns the exit code of the child;
// -1 if a signal ended it.
int in_child(
    const std::function<int()>& child_does, const std::function<void()>& meanwhile = [] {}) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        char unused = 0;
        [[maybe_unused]] const auto end = read(ends[0], &unused, 1);
        _exit(child_does());
    }
    meanwhile();
    for (const int file : ends) close(file);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(HeapFork, ChildAndParentHaveSeparateMemory) {
    void* const memory = calloc(1, 5 * mega);
    ASSERT_TRUE(in_arena(memory, 5 * mega));
    std::memset(memory, 1, 5 * mega);
    const auto child = [=] {
        if (!all_are(memory, 5 * mega, 1)) return 1;
        std::memset(memory, 3, 5 * mega);
        return all_are(memory, 5 * mega, 3) ? 0 : 2;
    };
    EXPECT_EQ(in_child(child, [=] { std::memset(memory, 2, 5 * mega); }), 0);
    EXPECT_TRUE(all_are(memory, 5 * mega, 2));
    free(memory);
}

TEST(HeapFork, UnwrittenMemoryIsZeroInTheChild) {
    auto* const memory = static_cast<char*>(calloc(1, 300 * mega));
    memory[100 * mega] = 1;
    memory[300 * mega - 1] = 2;
    const auto child = [=] {
        return memory[0] + memory[200 * mega] == 0 && memory[100 * mega] == 1 &&
                       memory[300 * mega - 1] == 2
                   ? 0
                   : 1;
    };
    EXPECT_EQ(in_child(child), 0);
    EXPECT_EQ(memory[200 * mega], 0);
    free(memory);
}

TEST(HeapFork, TheChildsHeapWorks) {
    void* const kept = malloc(mega);
    std::memset(kept, 1, mega);
    void* const freed = malloc(mega);
    std::memset(freed, 1, mega);
    free(freed);
    EXPECT_EQ(in_child([=] {
                  void* const zero = calloc(1, mega);  // may reuse freed memory
                  if (!all_are(zero, mega, 0)) return 1;
                  void* const large = malloc(500 * mega);
                  if (large == nullptr) return 2;
                  std::memset(large, 5, 100 * mega);
                  free(large);
                  void* const again = calloc(1, 500 * mega);
                  if (!all_are(again, 100 * mega, 0)) return 3;
                  void* const moved = realloc(kept, 3 * mega);
                  if (!all_are(moved, mega, 1)) return 4;
                  for (void* memory : {zero, again, moved}) free(memory);
                  return 0;
              }),
              0);
    EXPECT_TRUE(all_are(kept, mega, 1));
    free(kept);
}

TEST(HeapFork, PeersCannotReachTheChild) {
    void* const memory = malloc(mega);
    EXPECT_EQ(
        in_child([=] {
            if (in_arena(memory, 1) || in_arena(malloc(mega), 1)) return 1;
            // The child must not keep the parent's file open.
            for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
                std::error_code gone;
                if (std::filesystem::read_symlink(file.path(), gone).string().find("tutti_heap") !=
                    std::string::npos)
                    return 2;
            }
            return 0;
        }),
        0);
    EXPECT_TRUE(in_arena(memory, 1));
    free(memory);
}

TEST(HeapFork, ForkedRanksRefuseMappedBuffers) {
    EXPECT_EQ(in_child([] {
                  std::atomic<int> refused = 0;
                  run_as_rendezvous(2, [&](World& world) {
                      if (heaps_refuse(world).value_or("").find("forked") != std::string::npos)
                          ++refused;
                  });
                  return refused.load();
              }),
              2);
}

TEST(HeapFork, AGrandchildHasACopy) {
    void* const memory = malloc(mega);
    std::memset(memory, 1, mega);
    EXPECT_EQ(in_child([=] {
                  std::memset(memory, 2, mega);
                  const pid_t grandchild = fork();
                  if (grandchild == 0) {
                      const bool is_copy = all_are(memory, mega, 2);
                      std::memset(memory, 3, mega);
                      _exit(is_copy ? 0 : 1);
                  }
                  int status = 0;
                  waitpid(grandchild, &status, 0);
                  return status == 0 && all_are(memory, mega, 2) ? 0 : 1;
              }),
              0);
    EXPECT_TRUE(all_are(memory, mega, 1));
    free(memory);
}

TEST(HeapFork, ForkHandlersOfTheProgramSeeTheCopy) {
    static unsigned char* memory;
    memory = static_cast<unsigned char*>(calloc(1, mega));
    pthread_atfork(
        [] {
            if (memory != nullptr) memory[0] = 1;
        },
        nullptr,
        [] {
            if (memory != nullptr) memory[1] = memory[0];
        });
    EXPECT_EQ(in_child([] { return memory[0] == 1 && memory[1] == 1 ? 0 : 1; }), 0);
    EXPECT_EQ(memory[1], 0);
    free(memory);
    memory = nullptr;
}

TEST(HeapFork, TheChildCanExecutePrograms) {
    void* const memory = malloc(50 * mega);
    std::memset(memory, 1, 50 * mega);
    EXPECT_EQ(in_child([] { return execl("/bin/sh", "sh", "-c", "exit 7", nullptr); }), 7);
    EXPECT_EQ(WEXITSTATUS(system("exit 8")), 8);
    free(memory);
}

}  // namespace
}  // namespace tutti
