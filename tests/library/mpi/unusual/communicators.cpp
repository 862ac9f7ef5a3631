// SPDX-License-Identifier: Apache-2.0
// Communicators of all kinds: many, short-lived, inter-communicators, with topologies.
#include <memory>

#include "scenarios.hpp"

namespace {

void free_all(std::vector<MPI_Comm> comms) {
    for (MPI_Comm& comm : comms)
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

const bool is_long = std::getenv("TUTTI_LONG") != nullptr;

void use_short_lived_ones(const Job& world) {
    const int many = is_long ? 1500 : 50;
    for (int i = 0; i < many; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(world.comm, &comm);
        check_sums(Job(comm), 80);
        MPI_Comm_free(&comm);
    }
}

// Frees communicators from the middle outwards.
void have_many_alive(const Job& world) {
    const int many = is_long ? 300 : 60;
    std::vector<MPI_Comm> all(static_cast<std::size_t>(many));
    for (int i = 0; i < many; ++i) {
        MPI_Comm& comm = all[static_cast<std::size_t>(i)];
        if (i % 2 == 0)
            MPI_Comm_dup(world.comm, &comm);
        else
            MPI_Comm_split(world.comm, 0, -world.rank, &comm);
    }
    for (int round = 0; round < 3; ++round)
        for (const MPI_Comm comm : all) check_sums(Job(comm), 30);
    for (int i = 0; i < many; ++i) {
        const int place = many / 2 + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
        check_sum(Job(all[static_cast<std::size_t>(place)]), i);
        MPI_Comm_free(&all[static_cast<std::size_t>(place)]);
    }
}

void duplicate_while_calls_run(const Job& world) {
    for (int i = 0; i < many_calls; ++i) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_idup(world.comm, &copy, &request);
        check_sum(world, i);
        call_many_of_each_kind(world, 5, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sums(Job(copy), 3);
        MPI_Comm_free(&copy);
    }
}

void disconnect(const Job& world) {
    for (int i = 0; i < 10; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(world.comm, &comm);
        check_sums(Job(comm));
        MPI_Comm_disconnect(&comm);
        EXPECT(comm == MPI_COMM_NULL);
    }
}

void split_in_all_ways(const Job& world) {
    MPI_Comm host = MPI_COMM_NULL, some = MPI_COMM_NULL, hinted = MPI_COMM_NULL;
    MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, -world.rank, MPI_INFO_NULL, &host);
    call_many_of_each_kind(Job(host), 20);
    // The last rank is not a member of this one.
    MPI_Comm_split(world.comm, world.rank == world.size - 1 ? MPI_UNDEFINED : 0, 0, &some);
    if (some != MPI_COMM_NULL) call_many_of_each_kind(Job(some), 20);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(world.comm, info, &hinted);
    MPI_Info_free(&info);
    call_many_of_each_kind(Job(hinted), 20);
    free_all({host, some, hinted});
}

// Only the members of a subset call MPI_Comm_create_group; the other rank goes on.
void create_among_subsets(const Job& world) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Comm_group(world.comm, &all);
    for (int left_out = 0; left_out < world.size; ++left_out) {
        MPI_Group group = MPI_GROUP_NULL;
        MPI_Group_excl(all, 1, &left_out, &group);
        MPI_Comm comm = MPI_COMM_NULL;
        if (world.rank != left_out) {
            MPI_Comm_create_group(world.comm, group, left_out, &comm);
            call_many_of_each_kind(Job(comm), 10);
            MPI_Comm_free(&comm);
        }
        MPI_Group_free(&group);
    }
    MPI_Group_free(&all);
    check_sums(world);
}

// Makes a communicator for each pair of ranks.
void overlap(const Job& world) {
    std::vector<MPI_Comm> pairs;
    for (int a = 0; a < world.size; ++a)
        for (int b = a + 1; b < world.size; ++b) {
            MPI_Comm pair = MPI_COMM_NULL;
            const bool is_in = world.rank == a || world.rank == b;
            MPI_Comm_split(world.comm, is_in ? 0 : MPI_UNDEFINED, world.rank == a ? 1 : 0, &pair);
            if (is_in) pairs.push_back(pair);
        }
    for (int i = 0; i < many_calls; ++i) {
        for (const MPI_Comm pair : pairs) check_sum(Job(pair), i);
        check_sum(world, i);
    }
    free_all(pairs);
}

void talk_between_groups(const Job& world) {
    MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL, merged = MPI_COMM_NULL;
    const int side = world.rank % 2;
    MPI_Comm_split(world.comm, side, world.rank, &half);
    MPI_Intercomm_create(half, 0, world.comm, 1 - side, 3, &between);
    MPI_Intercomm_merge(between, side, &merged);
    const int here = (world.size + 1 - side) / 2, there = world.size - here;
    const Job all(merged);
    for (int i = 0; i < many_calls; ++i) {
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, between);
        EXPECT(sum == there * i);
        int word = world.rank == 0 ? i : -1;
        MPI_Bcast(&word, 1, MPI_INT,
                  world.rank == 0 ? MPI_ROOT
                  : side == 0     ? MPI_PROC_NULL
                                  : 0,
                  between);
        EXPECT((world.rank != 0 && side == 0) || word == i);
        MPI_Barrier(between);
        check_sum(all, i);
        check_sum(Job(half), i);
    }
    call_many_of_each_kind(all, 10);
    free_all({merged, between, half});
}

void talk_to_neighbours(const Job& world) {
    MPI_Comm ring = MPI_COMM_NULL, graph = MPI_COMM_NULL, row = MPI_COMM_NULL;
    const int is_periodic = 1, keeps = 1;
    MPI_Cart_create(world.comm, 1, &world.size, &is_periodic, 0, &ring);
    MPI_Cart_sub(ring, &keeps, &row);
    const int next = (world.rank + 1) % world.size;
    const int previous = (world.rank + world.size - 1) % world.size;
    MPI_Dist_graph_create_adjacent(world.comm, 1, &previous, MPI_UNWEIGHTED, 1, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    for (int i = 0; i < many_calls; ++i) {
        const int mine = world.rank + i;
        int from[2] = {-1, -1};
        MPI_Neighbor_allgather(&mine, 1, MPI_INT, from, 1, MPI_INT, ring);
        EXPECT(from[0] == previous + i && from[1] == next + i);
        check_sum(Job(ring), i);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ineighbor_alltoall(&mine, 1, MPI_INT, from, 1, MPI_INT, graph, &request);
        check_sum(Job(graph), i);
        check_sum(Job(row), i);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(from[0] == previous + i);
    }
    call_many_of_each_kind(Job(ring), 10);
    call_many_of_each_kind(Job(graph), 10);
    free_all({row, graph, ring});
}

void be_alone(const Job& world) {
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Comm_split(world.comm, world.rank, 0, &alone);
    call_many_of_each_kind(Job(alone), 10);
    call_many_of_each_kind(Job(MPI_COMM_SELF), 10);
    // Each rank makes a different number of calls.
    check_sums(Job(MPI_COMM_SELF), many_calls * world.rank);
    MPI_Comm_free(&alone);
}

// Each communicator is made from the one before, which is freed at once.
void make_generations(const Job& world) {
    MPI_Comm now = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &now);
    for (int i = 0; i < 30; ++i) {
        check_sums(Job(now), i % 3 == 0 ? many_calls : 1);
        MPI_Comm child = MPI_COMM_NULL;
        if (i % 2 == 0)
            MPI_Comm_dup(now, &child);
        else
            MPI_Comm_split(now, 0, -Job(now).rank, &child);
        MPI_Comm_free(&now);
        now = child;
    }
    MPI_Comm_free(&now);
}

// MPI_Comm_free returns while a request, or a call of another rank, is outstanding.
void free_while_calls_are_under_way(const Job& world) {
    for (int i = 0; i < many_calls; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(world.comm, &comm);
        check_sums(Job(comm), i % 10 == 0 ? many_calls : 2);
        int word = world.rank == 0 ? i : -1;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &request);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(word == i);
    }
}

// Name, group, topology and error handler of a communicator stay as the program set them.
void look_at_itself(const Job& world) {
    MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &comm);
    MPI_Comm_set_name(comm, "mine");
    check_sums(Job(comm));
    MPI_Comm_dup(comm, &copy);
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0, result = -1;
    MPI_Comm_get_name(comm, name, &length);
    EXPECT(std::string_view(name) == "mine");
    MPI_Comm_compare(comm, copy, &result);
    EXPECT(result == MPI_CONGRUENT);
    MPI_Comm_compare(comm, comm, &result);
    EXPECT(result == MPI_IDENT);
    MPI_Topo_test(comm, &result);
    EXPECT(result == MPI_UNDEFINED);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &handler);
    EXPECT(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    free_all({copy, comm});
}

const Scenarios scenarios(
    {{"short_lived", "many communicators are used for 80 calls and freed", use_short_lived_ones},
     {"many_alive", "hundreds of communicators exist at once and are freed in another order",
      have_many_alive},
     {"idup", "collectives run while MPI_Comm_idup is outstanding", duplicate_while_calls_run},
     {"disconnect", "communicators end by MPI_Comm_disconnect", disconnect},
     {"split", "communicators come from split, split_type and dup_with_info", split_in_all_ways},
     {"create_group", "subsets of the ranks make communicators without the other ranks",
      create_among_subsets},
     {"overlapping", "each rank is a member of several communicators of two ranks", overlap},
     {"between_groups", "collectives on an inter-communicator, on its groups and on the merged one",
      talk_between_groups},
     {"neighbours", "neighbourhood collectives on grids and graphs, between other collectives",
      talk_to_neighbours},
     {"one_rank", "collectives on communicators of one rank", be_alone},
     {"generations", "each communicator is made from the previous one, which is then freed",
      make_generations},
     {"freed_early", "a communicator is freed while a collective on it is outstanding",
      free_while_calls_are_under_way},
     {"looked_at", "name, group and error handler stay as the program set them", look_at_itself}});

}  // namespace
