// SPDX-License-Identifier: Apache-2.0
// Measures a pair of malloc and free, a pair of mmap and munmap, and a fork. With
// LD_PRELOAD=libtutti_heap.so it measures the heap's functions. It writes a byte of each page.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace {

char* written(std::size_t bytes) {
    auto* const memory = static_cast<char*>(std::malloc(bytes));
    for (std::size_t page = 0; page < bytes; page += 4096) memory[page] = 1;
    return memory;
}

void pair(benchmark::State& state) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        char* memory = written(bytes);
        benchmark::DoNotOptimize(memory);
        benchmark::ClobberMemory();
        std::free(memory);
    }
}
BENCHMARK(pair)->Arg(64)->Arg(64 << 10)->Arg(1 << 20)->Arg(64 << 20)->Arg(256 << 20);
BENCHMARK(pair)->Arg(64 << 10)->Arg(1 << 20)->Threads(8)->UseRealTime();

// Maps memory outside of the heap.
void map_and_unmap(benchmark::State& state) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        void* memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        benchmark::DoNotOptimize(memory);
        munmap(memory, bytes);
    }
}
BENCHMARK(map_and_unmap)->Arg(64 << 10);

void fork_and_wait(benchmark::State& state) {
    char* const memory = written(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, nullptr, 0);
    }
    std::free(memory);
}
BENCHMARK(fork_and_wait)->Arg(1 << 20)->Arg(1 << 30)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
