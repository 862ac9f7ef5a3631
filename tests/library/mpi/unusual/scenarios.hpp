// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scenarios do what MPI allows but few programs do. Each checks its results against closed forms.
// unusual_test.py runs them without tutti and with it, and compares the outputs.
//   PROGRAM                 lists the scenarios
//   PROGRAM SCENARIO...     runs these scenarios
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include "../../preload_program.hpp"

/// Number of calls of a kind. The MPI library does the first 64 on MPI_COMM_WORLD; tutti does some
/// of the rest.
constexpr int many_calls = 150;
constexpr int most_ranks = 4;  // sizes of constant tables and of arrays on stacks

template <class Function>
struct Named {
    std::string_view name, sentence;
    Function* run;
};
using Scenario = Named<void(const Job& world)>;
/// A scenario that starts and ends MPI itself, so each runs in its own processes.
using Alone = Named<void()>;

/// Lists scenarios as `NAME: SENTENCE`, or as `NAME (alone): SENTENCE`.
template <class Function>
int list_scenarios(std::span<const Named<Function>> all) {
    for (const auto& [name, sentence, run] : all)
        std::printf("%s%s: %s\n", name.data(), std::is_same_v<Function, void()> ? " (alone)" : "",
                    sentence.data());
    return 0;
}

template <class Function>
const Named<Function>& find_scenario(std::span<const Named<Function>> all, std::string_view name) {
    for (const auto& one : all)
        if (one.name == name) return one;
    std::fprintf(stderr, "unknown scenario %s; run without arguments for a list\n", name.data());
    std::exit(64);
}

/// The scenarios of a program, which its files add, and the level of threads that they need.
inline std::vector<Scenario> all_scenarios;
inline int thread_level = MPI_THREAD_SINGLE;
struct Scenarios {
    explicit Scenarios(std::initializer_list<Scenario> list, int level = MPI_THREAD_SINGLE) {
        all_scenarios.insert(all_scenarios.end(), list);
        thread_level = level;
    }
};

inline int sum_of_ranks(int ranks) { return ranks * (ranks - 1) / 2; }

/// Checks the sum of an integer of each rank.
inline void check_sum(const Job& job, int step = 0) {
    const int mine = job.rank + step;
    int sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, job.comm);
    EXPECT(sum == sum_of_ranks(job.size) + job.size * step);
}
inline void check_sums(const Job& job, int calls = many_calls) {
    for (int i = 0; i < calls; ++i) check_sum(job, i);
}

/// Buffers of one rank, with room for a block of `count` integers from or for each rank. The data
/// to send are this rank's own, or common to all ranks and equal to rank 0's. If they are
/// read-only, broadcasts of MPICH must have root 0, because MPICH sends other roots their own data
/// back.
enum class Sent { own, own_read_only, common, common_read_only };
struct Memory {
    const int* send;
    int* receive;
    int count;
    Sent kind = Sent::own;

    int sent(int rank, int i) const {
        const bool is_common = kind == Sent::common || kind == Sent::common_read_only;
        return given(is_common ? 0 : rank, i);
    }
    int root_of_broadcasts(int root) const {
#ifdef MPICH
        if (kind == Sent::own_read_only || kind == Sent::common_read_only) return 0;
#endif
        return root;
    }
};
inline void fill(int* send, int rank, int count) {
    for (int i = 0; i < count; ++i) send[i] = given(rank, i);
}

/// Makes a call of each kind with these buffers and checks the results.
inline void call_each_kind(const Job& job, const Memory& memory, int root) {
    const auto [rank, size, comm] = job;
    const int count = memory.count;
    const int* const send = memory.send;
    int* const receive = memory.receive;
    const bool is_root = rank == root;
    const auto sum = [&](int ranks, int i) {
        int all = 0;
        for (int r = 0; r < ranks; ++r) all += memory.sent(r, i);
        return all;
    };
    // expected(rank, i) returns integer i of the block of a rank.
    const auto clear = [&] { std::fill_n(receive, size * count, -1); };
    const auto is_right = [&](int blocks, auto expected) {
        for (int r = 0; r < blocks; ++r)
            for (int i = 0; i < count; ++i)
                if (receive[r * count + i] != expected(r, i)) return false;
        return true;
    };
    clear();
    MPI_Allreduce(send, receive, count, MPI_INT, MPI_SUM, comm);
    EXPECT(is_right(1, [&](int, int i) { return sum(size, i); }));
    clear();
    MPI_Reduce(send, receive, count, MPI_INT, MPI_SUM, root, comm);
    EXPECT(!is_root || is_right(1, [&](int, int i) { return sum(size, i); }));
    clear();
    MPI_Reduce_scatter_block(send, receive, count, MPI_INT, MPI_SUM, comm);
    EXPECT(is_right(1, [&](int, int i) { return sum(size, rank * count + i); }));
    clear();
    MPI_Scan(send, receive, count, MPI_INT, MPI_SUM, comm);
    EXPECT(is_right(1, [&](int, int i) { return sum(rank + 1, i); }));
    clear();
    const int teller = memory.root_of_broadcasts(root);
    MPI_Bcast(rank == teller ? const_cast<int*>(send) : receive, count, MPI_INT, teller, comm);
    EXPECT(rank == teller || is_right(1, [&](int, int i) { return memory.sent(teller, i); }));
    clear();
    MPI_Allgather(send, count, MPI_INT, receive, count, MPI_INT, comm);
    EXPECT(is_right(size, [&](int r, int i) { return memory.sent(r, i); }));
    clear();
    MPI_Gather(send, count, MPI_INT, receive, count, MPI_INT, root, comm);
    EXPECT(!is_root || is_right(size, [&](int r, int i) { return memory.sent(r, i); }));
    clear();
    MPI_Scatter(send, count, MPI_INT, receive, count, MPI_INT, root, comm);
    EXPECT(is_right(1, [&](int, int i) { return memory.sent(root, rank * count + i); }));
    clear();
    MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, comm);
    EXPECT(is_right(size, [&](int r, int i) { return memory.sent(r, rank * count + i); }));

    // Blocks of different lengths: rank r's block has r integers less, but at least none.
    const auto length = [&](int r) { return std::max(count - r, 0); };
    std::vector<int> lengths, places, mine(static_cast<std::size_t>(size), length(rank));
    for (int r = 0; r < size; ++r) {
        lengths.push_back(length(r));
        places.push_back(r * count);
    }
    const auto is_v_right = [&](auto block_length, auto expected) {
        return is_right(size,
                        [&](int r, int i) { return i < block_length(r) ? expected(r, i) : -1; });
    };
    clear();
    MPI_Allgatherv(send, length(rank), MPI_INT, receive, lengths.data(), places.data(), MPI_INT,
                   comm);
    EXPECT(is_v_right(length, [&](int r, int i) { return memory.sent(r, i); }));
    clear();
    MPI_Gatherv(send, length(rank), MPI_INT, receive, lengths.data(), places.data(), MPI_INT, root,
                comm);
    EXPECT(!is_root || is_v_right(length, [&](int r, int i) { return memory.sent(r, i); }));
    clear();
    MPI_Scatterv(send, lengths.data(), places.data(), MPI_INT, receive, length(rank), MPI_INT, root,
                 comm);
    EXPECT(is_v_right([&](int r) { return r == 0 ? length(rank) : 0; },
                      [&](int, int i) { return memory.sent(root, rank * count + i); }));
    clear();
    MPI_Alltoallv(send, lengths.data(), places.data(), MPI_INT, receive, mine.data(), places.data(),
                  MPI_INT, comm);
    EXPECT(is_v_right([&](int) { return length(rank); },
                      [&](int r, int i) { return memory.sent(r, rank * count + i); }));
    MPI_Barrier(comm);
}

/// Calls each kind many times, with blocks of 4 B to 64 KiB.
constexpr std::array lengths_of_blocks{1, 50, 1000, 16384};
constexpr int longest_block = lengths_of_blocks.back();
inline void call_many_of_each_kind(const Job& job, const int* send, int* receive,
                                   Sent kind = Sent::own, int calls = many_calls) {
    for (int i = 0; i < calls; ++i) {
        // Every tenth call has the longest length, because it is slow.
        const int length =
            i % 10 == 9 ? longest_block : lengths_of_blocks[static_cast<std::size_t>(i % 3)];
        call_each_kind(job, {send, receive, length, kind}, i % job.size);
    }
}

/// The same with buffers in vectors.
inline void call_many_of_each_kind(const Job& job, int count, int calls = many_calls) {
    std::vector<int> receive(static_cast<std::size_t>(job.size * count));
    const auto send = given_by<int>(job.rank, job.size * count);
    for (int i = 0; i < calls; ++i)
        call_each_kind(job, {send.data(), receive.data(), count}, i % job.size);
}
