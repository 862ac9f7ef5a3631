// SPDX-License-Identifier: Apache-2.0
// An MPI program that maps over, unmaps, moves, discards and protects memory of malloc, and passes
// such memory to collectives. heap_mapped_over_test.py runs all cases; an argument selects one.
// program_calls_test.cpp checks the heap itself in more cases.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "collectives/heap/tutti_heap.h"
#include "preload_program.hpp"

namespace {

constexpr int length = 1 << 14;  // number of elements of each of the two vectors
constexpr std::size_t page = 4096, half = length * sizeof(double), bytes = 2 * half;
constexpr int usual = PROT_READ | PROT_WRITE;
constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// Returns two adjacent vectors, which peers can reach if the heap is loaded.
double* allocated(std::size_t size = bytes) {
    auto* const memory = static_cast<double*>(std::aligned_alloc(page, size));
    std::fill_n(memory, size / sizeof(double), -5);
    return memory;
}

double* after(double* memory, std::size_t offset) { return memory + offset / sizeof(double); }

bool is_reachable(const void* memory, std::size_t size) {
    static auto* const locate =
        reinterpret_cast<tutti_heap_locate_function*>(dlsym(RTLD_DEFAULT, "tutti_heap_locate"));
    tutti_heap_place place{};
    return locate != nullptr && locate(memory, size, &place) == 1;
}

void map_over(void* memory, std::size_t size, int flags = anonymous, int file = -1) {
    EXPECT(mmap(memory, size, usual, flags | MAP_FIXED, file, 0) == memory);
}

int temporary_file(std::size_t size) {
    char name[] = "/tmp/preload_mapped_over.XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    EXPECT(ftruncate(file, static_cast<off_t>(size)) == 0);
    return file;
}

bool all_are(const double* memory, double value, int count = length) {
    return std::all_of(memory, memory + count, [=](double one) { return one == value; });
}

// Makes calls that send one vector and receive into the other, with different values each time.
void call(const Job& job, double* given, double* received, int calls = 5) {
    static int number = 0;
    for (int i = 0; i < calls; ++i, ++number) {
        std::fill_n(given, length, job.rank + number);
        MPI_Allreduce(given, received, length, MPI_DOUBLE, MPI_SUM, job.comm);
        EXPECT(all_are(received, job.size * (job.size - 1) / 2.0 + job.size * number));
        const int root = number % job.size;
        std::fill_n(received, length, job.rank == root ? number : -1);
        MPI_Bcast(received, length, MPI_DOUBLE, root, job.comm);
        EXPECT(all_are(received, number));
        std::fill_n(received, length, 1);
        MPI_Allreduce(MPI_IN_PLACE, received, length, MPI_DOUBLE, MPI_SUM, job.comm);
        EXPECT(all_are(received, job.size));
    }
}

void call(const Job& job, double* both, int calls = 5) {
    call(job, both, both + length, calls);
    call(job, both + length, both, calls);
}

// Checks that freed memory can be allocated again, and that peers can reach it.
void free_and_use_again(const Job& job, double* memory) {
    std::free(memory);
    double* const again = allocated();
    EXPECT(is_reachable(again, bytes));
    call(job, again);
    std::free(again);
}

void nothing(const Job& job) {
    double* const both = allocated();
    EXPECT(is_reachable(both, bytes));
    call(job, both, 40);
    free_and_use_again(job, both);
}

void anonymous_memory_over_all(const Job& job) {
    double* const both = allocated();
    map_over(both, bytes);
    EXPECT(all_are(both, 0));
    EXPECT(!is_reachable(both, bytes));
    call(job, both, 40);
    free_and_use_again(job, both);
}

void a_file_over_all(const Job& job) {
    double* const both = allocated();
    const int file = temporary_file(bytes);
    map_over(both, bytes, MAP_SHARED, file);
    call(job, both);
    double written = 0;
    EXPECT(pread(file, &written, sizeof written, half) == sizeof written);
    EXPECT(written == both[length]);
    std::free(both);
    double* const again = allocated();  // if it is at the same place, this must not write the file
    std::fill_n(again, 2 * length, 77);
    EXPECT(pread(file, &written, sizeof written, half) == sizeof written && written != 77);
    free_and_use_again(job, again);
    close(file);
}

// Maps the same pages twice next to each other, so that writing beyond the end wraps around.
void a_ring_buffer(const Job& job) {
    double* const both = allocated();
    const int file = temporary_file(half);
    map_over(both, half, MAP_SHARED, file);
    map_over(both + length, half, MAP_SHARED, file);
    double* const result = allocated(half);
    for (int i = 0; i < 5; ++i) {
        call(job, both + length / 2, result);
        EXPECT(both[0] == both[length] && both[length / 4] == both[length + length / 4]);
    }
    std::free(result);
    free_and_use_again(job, both);
    close(file);
}

void between_calls_with_the_same_buffer(const Job& job) {
    double* const both = allocated();
    for (int i = 0; i < 20; ++i) {
        call(job, both, 2);
        if (i % 3 == job.rank % 3) map_over(i % 2 == 0 ? both : both + length, half);
    }
    free_and_use_again(job, both);
}

void unmaps_and_maps_again(const Job& job) {
    double* const both = allocated();
    EXPECT(munmap(both, half) == 0);
    EXPECT(!is_reachable(both, bytes) && is_reachable(both + length, half));
    // The program can map these addresses again, with any flags.
    EXPECT(mmap(both, half, usual, anonymous | MAP_FIXED_NOREPLACE, -1, 0) == both);
    call(job, both);
    EXPECT(mmap(both, half, usual, anonymous | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
    EXPECT(munmap(both, half) == 0);
    EXPECT(mmap(both, half, usual, anonymous, -1, 0) == both);
    call(job, both);
    free_and_use_again(job, both);
}

void moves_to_any_place_and_grows(const Job& job) {
    double* const both = allocated();
    double* const neighbour = allocated();
    std::iota(both, both + 2 * length, 0);
    auto* const moved = static_cast<double*>(mremap(both, bytes, 2 * bytes, MREMAP_MAYMOVE));
    EXPECT(moved != MAP_FAILED && moved != both);
    EXPECT(moved[1] == 1 && moved[2 * length - 1] == 2 * length - 1);
    EXPECT(all_are(moved + 2 * length, 0, 2 * length));
    call(job, moved);
    call(job, moved + 2 * length, moved);
    EXPECT(all_are(neighbour, -5, 2 * length));
    munmap(moved, 2 * bytes);
    std::free(neighbour);
    free_and_use_again(job, both);
}

void discards(const Job& job) {
    double* const both = allocated();
    for (int i = 0; i < 5; ++i) {
        call(job, both, 1);
        std::fill_n(both, 2 * length, 3);
        EXPECT(madvise(both, half, MADV_DONTNEED) == 0);
        EXPECT(all_are(both, 0) && all_are(both + length, 3));
        EXPECT(is_reachable(both, bytes));
        MPI_Allreduce(both, both + length, length, MPI_DOUBLE, MPI_SUM, job.comm);
        EXPECT(all_are(both + length, 0));
        EXPECT(madvise(both, half, MADV_FREE) == 0);
    }
    map_over(both, half);  // one half is now memory of the program
    std::fill_n(both, 2 * length, 3);
    EXPECT(madvise(after(both, half - page), 2 * page, MADV_DONTNEED) == 0);
    EXPECT(both[length - 1] == 0 && both[length] == 0 && both[length + page / 8] == 3);
    free_and_use_again(job, both);
}

double* tracked = nullptr;
volatile std::sig_atomic_t faults = 0;

// Checkpoint libraries detect written pages like this.
void notes_which_pages_are_written(const Job& job) {
    double* const both = tracked = allocated();
    struct sigaction action {
    }, before{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* at, void*) {
        auto* const address = static_cast<char*>(at->si_addr);
        const std::uintptr_t in_page = reinterpret_cast<std::uintptr_t>(address) % page;
        faults = faults + 1;
        if (mprotect(address - in_page, page, usual) != 0) std::abort();
    };
    sigaction(SIGSEGV, &action, &before);
    for (int i = 0; i < 3; ++i) {
        EXPECT(mprotect(both, bytes, PROT_READ) == 0);
        faults = 0;
        call(job, both, 1);
        EXPECT(faults == static_cast<int>(bytes / page));
    }
    sigaction(SIGSEGV, &before, nullptr);
    free_and_use_again(job, both);
}

void while_a_call_is_under_way(const Job& job) {
    double* const both = allocated();
    double* const other = allocated();
    for (int i = 0; i < 20; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        std::fill_n(both, length, job.rank + i);
        MPI_Iallreduce(both, both + length, length, MPI_DOUBLE, MPI_SUM, job.comm, &request);
        if (i % 2 == 0) map_over(other, half);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(all_are(both + length, job.size * (job.size - 1) / 2.0 + job.size * i));
        if (i % 4 == 0) map_over(both + length, half);
        call(job, other, 1);
    }
    std::free(other);
    free_and_use_again(job, both);
}

struct Case {
    std::string_view name;
    void (*run)(const Job&);
};
#define CASE(name) \
    { #name, name }
constexpr Case cases[] = {CASE(nothing),
                          CASE(anonymous_memory_over_all),
                          CASE(a_file_over_all),
                          CASE(a_ring_buffer),
                          CASE(between_calls_with_the_same_buffer),
                          CASE(unmaps_and_maps_again),
                          CASE(moves_to_any_place_and_grows),
                          CASE(discards),
                          CASE(notes_which_pages_are_written),
                          CASE(while_a_call_is_under_way)};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Job job(MPI_COMM_WORLD);
    const std::string_view chosen = argc > 1 ? argv[1] : "";
    for (const auto& [name, run] : cases) {
        if (!chosen.empty() && name != chosen) continue;
        const long before = checks.wrong;
        run(job);
        if (checks.wrong > before)
            std::printf("rank %d: %s: %ld wrong\n", job.rank, name.data(), checks.wrong - before);
    }
    long wrong = checks.wrong;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, job.comm);
    if (job.rank == 0) std::printf("%ld checks, %ld wrong\n", checks.done, wrong);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
