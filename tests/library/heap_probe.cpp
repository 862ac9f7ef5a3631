// SPDX-License-Identifier: Apache-2.0
// A program that heap_test.py runs with and without the preloaded heap.
#include <dlfcn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "collectives/heap/tutti_heap.h"

namespace {

tutti_heap_place place{};

bool in_arena(const void* memory) {
    auto* const locate =
        reinterpret_cast<tutti_heap_locate_function*>(dlsym(RTLD_DEFAULT, "tutti_heap_locate"));
    return locate != nullptr && locate(memory, 1, &place) != 0;
}

// Allocates up to `most` blocks and writes a byte in each. Stops when memory is exhausted. Prints
// how many are in the arena, how many elsewhere, and the error.
void fill(std::size_t block, long most) {
    long ours = 0, others = 0;
    errno = 0;
    for (; ours + others < most;) {
        auto* const memory = static_cast<char*>(malloc(block));
        if (memory == nullptr) break;
        memory[block / 2] = 1;
        ++(in_arena(memory) ? ours : others);
    }
    const int error = ours + others < most ? errno : 0;
    std::printf("%ld %ld %d\n", ours, others, error);
}

// Forks in a coroutine whose stack is allocated memory of this size.
void fork_on_stack_of(std::size_t bytes) {
    static ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = std::malloc(bytes);
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(
        &there,
        [] {
            const pid_t child = fork();
            if (child == 0) _exit(0);
            waitpid(child, nullptr, 0);
        },
        0);
    swapcontext(&here, &there);
    std::puts("forked");
}

int ended_by(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count > 1 ? arguments[1] : "";
    const std::size_t bytes = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
    if (what == "place") {  // where an allocation of this size lies
        std::puts(in_arena(std::malloc(bytes)) ? "in the arena" : "elsewhere");
    } else if (what == "most") {  // the greatest size of the arena
        std::printf("%" PRIu64 "\n", in_arena(std::malloc(bytes)) ? place.arena_most : 0);
    } else if (what == "fill") {  // allocates blocks of this size
        fill(bytes, count > 3 ? std::atol(arguments[3]) : 1000000);
    } else if (what == "new") {  // until it throws
        try {
            for (;;) static_cast<char*>(operator new(bytes))[0] = 1;
        } catch (const std::bad_alloc&) {
            std::puts("bad_alloc");
        }
    } else if (what == "close-files") {  // like a daemon
        std::free(std::malloc(bytes));
        for (int file = 3; file < 10000; ++file) close(file);
        fill(bytes, 10);
    } else if (what == "fork") {  // prints the signals of a child that reads the heap, and of
                                  // one that executes a program
        auto* volatile memory = static_cast<char*>(std::calloc(1, bytes));
        const pid_t reader = fork();
        if (reader == 0) _exit(memory[0]);
        const int of_reader = ended_by(reader);
        const pid_t other = fork();
        if (other == 0) _exit(execl("/bin/true", "true", nullptr));
        std::printf("%d %d\n", of_reader, ended_by(other));
    } else if (what == "fork-on-stack") {
        fork_on_stack_of(bytes);
    } else if (what == "child-forks-on-stack") {  // the parent has a heap
        std::free(std::malloc(bytes));
        const pid_t child = fork();
        if (child == 0)
            fork_on_stack_of(bytes);
        else
            return ended_by(child);
    } else if (what == "wait") {  // until it is killed
        std::memset(std::malloc(bytes), 1, bytes);
        std::puts("ready");
        std::fflush(stdout);
        pause();
    } else {
        return 64;
    }
}
