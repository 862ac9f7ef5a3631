// SPDX-License-Identifier: Apache-2.0
// A profiling layer sees each call of the program exactly once, and no other call. unusual_test.py
// chooses where the layer is: in this program, in a linked library, or preloaded.
#include <dlfcn.h>

#include <map>

#include "layer.hpp"
#include "scenarios.hpp"

namespace {

using Counts = std::map<std::string_view, long>;

Counts counts_now() {
    const auto counts_of_layer =
        reinterpret_cast<decltype(&layer_counts)>(dlsym(RTLD_DEFAULT, "layer_counts"));
    Counts all;
    if (counts_of_layer != nullptr)
        for (const LayerCount* one = counts_of_layer(); one->function != nullptr; ++one)
            all[one->function] = one->calls;
    return all;
}

// Compares the layer's counts with the calls of the scenario, and prints the differences. Does
// nothing without a layer.
void expect_counts(const Job& world, const Counts& before, const Counts& expected) {
    Counts seen = counts_now();
    if (seen.empty()) return;
    for (auto& [function, calls] : seen)
        if (const auto found = before.find(function); found != before.end()) calls -= found->second;
    for (const auto& [function, calls] : expected) seen[function] -= calls;
    std::erase_if(seen, [](const auto& one) { return one.second == 0; });
    EXPECT(seen.empty());
    if (world.rank != 0) return;
    for (const auto& [function, more] : seen) std::printf("%s: %+ld\n", function.data(), more);
}

void see_all_kinds(const Job& world) {
    const Counts before = counts_now();
    call_many_of_each_kind(world, 1000);
    Counts expected;
    for (const char* kind :
         {"MPI_Allreduce", "MPI_Reduce", "MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Bcast",
          "MPI_Allgather", "MPI_Gather", "MPI_Scatter", "MPI_Alltoall", "MPI_Allgatherv",
          "MPI_Gatherv", "MPI_Scatterv", "MPI_Alltoallv", "MPI_Barrier"})
        expected[kind] = many_calls;
    expect_counts(world, before, expected);
}

void see_communicators(const Job& world) {
    const Counts before = counts_now();
    for (int i = 0; i < 10; ++i) {
        MPI_Comm copy = MPI_COMM_NULL, part = MPI_COMM_NULL;
        MPI_Comm_dup(world.comm, &copy);
        MPI_Comm_split(copy, 0, -world.rank, &part);
        check_sums(Job(copy));
        check_sums(Job(part));
        MPI_Comm_free(&part);
        MPI_Comm_free(&copy);
    }
    expect_counts(world, before,
                  {{"MPI_Comm_dup", 10},
                   {"MPI_Comm_split", 10},
                   {"MPI_Comm_free", 20},
                   {"MPI_Comm_rank", 20},
                   {"MPI_Comm_size", 20},
                   {"MPI_Allreduce", 20L * many_calls}});
}

void see_datatypes(const Job& world) {
    const Counts before = counts_now();
    std::vector<int> all(static_cast<std::size_t>(400 * world.size));
    {
        const Gapped type(100);
        for (int i = 0; i < many_calls; ++i) {
            std::ranges::fill(all, world.rank);
            MPI_Allgather(all.data() + 200 * world.rank, 1, type.type(),
                          all.data() + 200 * world.size, 1, type.type(), world.comm);
            EXPECT(all[static_cast<std::size_t>(200 * (2 * world.size - 1))] == world.size - 1);
            MPI_Bcast(all.data(), 1, type.type(), i % world.size, world.comm);
        }
    }
    expect_counts(world, before,
                  {{"MPI_Allgather", many_calls},
                   {"MPI_Bcast", many_calls},
                   {"MPI_Type_commit", 1},
                   {"MPI_Type_free", 2}});
}

void see_messages(const Job& world) {
    const Counts before = counts_now();
    const int next = (world.rank + 1) % world.size;
    for (int i = 0; i < many_calls; ++i) {
        int got = -1;
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, world.comm, &requests[0]);
        check_sum(world, i);
        MPI_Isend(&i, 1, MPI_INT, next, 3, world.comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(got == i);
    }
    expect_counts(world, before,
                  {{"MPI_Irecv", many_calls},
                   {"MPI_Isend", many_calls},
                   {"MPI_Waitall", many_calls},
                   {"MPI_Allreduce", many_calls}});
}

const Scenarios scenarios(
    {{"all_kinds", "a layer counts collectives", see_all_kinds},
     {"communicators", "a layer counts calls that make and free communicators", see_communicators},
     {"datatypes", "a layer counts calls that make and free datatypes", see_datatypes},
     {"messages", "a layer counts messages and requests", see_messages}});

}  // namespace
