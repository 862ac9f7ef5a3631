// SPDX-License-Identifier: Apache-2.0
// Messages, requests and windows of the program, between and during collectives.
#include "scenarios.hpp"

namespace {

int next_of(const Job& job) { return (job.rank + 1) % job.size; }
int previous_of(const Job& job) { return (job.rank + job.size - 1) % job.size; }

bool is_done(MPI_Request& request) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
}

void receive_from_anyone(const Job& job) {
    for (int i = 0; i < 5; ++i) {
        std::vector<int> early(1000, -1);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(early.data(), 1000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, job.comm, &request);
        call_many_of_each_kind(job, 100, 30);
        EXPECT(!is_done(request) && early[0] == -1);
        MPI_Barrier(job.comm);
        const auto data = given_by<int>(job.rank, 1000);
        MPI_Send(data.data(), 1000, MPI_INT, next_of(job), 40 + i, job.comm);
        MPI_Status status;
        MPI_Wait(&request, &status);
        EXPECT(status.MPI_SOURCE == previous_of(job) && status.MPI_TAG == 40 + i);
        EXPECT(early == given_by<int>(previous_of(job), 1000));
    }
}
void use_wildcards(const Job& world) {
    receive_from_anyone(world);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &comm);
    receive_from_anyone(Job(comm));
    MPI_Comm_free(&comm);
}

void probe(const Job& world) {
    for (int i = 0; i < many_calls; ++i) {
        int is_there = -1;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, &is_there, &status);
        EXPECT(is_there == 0);
        call_many_of_each_kind(world, 10, 1);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, &is_there, &status);
        EXPECT(is_there == 0);
        check_sum(world, i);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(&i, 1, MPI_INT, next_of(world), i, world.comm, &request);
        check_sum(world, i);
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, &message, &status);
        EXPECT(status.MPI_SOURCE == previous_of(world) && status.MPI_TAG == i);
        int got = -1;
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        EXPECT(got == i);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        // Otherwise the next message of a fast rank could arrive before the first MPI_Iprobe.
        MPI_Barrier(world.comm);
    }
}

void use_the_largest_tags(const Job& world) {
    void* value = nullptr;
    int is_there = 0;
    MPI_Comm_get_attr(world.comm, MPI_TAG_UB, &value, &is_there);
    const int largest = *static_cast<int*>(value);
    for (int i = 0; i < many_calls; ++i) {
        int from[2] = {-1, -1};
        MPI_Request requests[4];
        MPI_Irecv(&from[0], 1, MPI_INT, previous_of(world), largest - i, world.comm, &requests[0]);
        MPI_Irecv(&from[1], 1, MPI_INT, previous_of(world), i, world.comm, &requests[1]);
        MPI_Isend(&i, 1, MPI_INT, next_of(world), largest - i, world.comm, &requests[2]);
        call_many_of_each_kind(world, 3, 1);
        MPI_Isend(&world.rank, 1, MPI_INT, next_of(world), i, world.comm, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        EXPECT(from[0] == i && from[1] == previous_of(world));
    }
}

void have_calls_outstanding(const Job& world) {
    constexpr int count = 2000;
    std::vector<int> sum(count), all(static_cast<std::size_t>(count * world.size)), word(count);
    const auto mine = given_by<int>(world.rank, count);
    for (int i = 0; i < many_calls; ++i) {
        const int root = i % world.size;
        MPI_Request requests[4];
        if (world.rank == root) word = mine;
        MPI_Iallreduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, world.comm, &requests[0]);
        check_sum(world, i);
        MPI_Ibcast(word.data(), count, MPI_INT, root, world.comm, &requests[1]);
        MPI_Barrier(world.comm);
        MPI_Iallgather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, world.comm,
                       &requests[2]);
        call_many_of_each_kind(world, 50, 1);
        MPI_Ibarrier(world.comm, &requests[3]);
        check_sum(world, i);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        EXPECT(sum[count - 1] == combined<int>(MPI_SUM, world.size, count - 1));
        EXPECT(word[count - 1] == given(root, count - 1));
        EXPECT(all.back() == given(world.size - 1, count - 1));
    }
}

// All ranks have many requests, and wait for them in another order.
void have_many_requests(const Job& world) {
    constexpr int many = 300;
    std::array<MPI_Request, many> requests{};
    std::array<int, many> words{};
    for (int i = 0; i < many; ++i) {
        const auto place = static_cast<std::size_t>(i);
        words[place] = world.rank == i % world.size ? i : -1;
        MPI_Ibcast(&words[place], 1, MPI_INT, i % world.size, world.comm, &requests[place]);
        check_sum(world, i);
    }
    std::ranges::reverse(requests);
    MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < many; ++i) EXPECT(words[static_cast<std::size_t>(i)] == i);
}

// No rank knows how many messages it gets. MPI_Ibarrier tells when the exchange has ended.
void exchange_sparsely(const Job& world) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &comm);
    for (int i = 0; i < many_calls; ++i) {
        const bool sends = (world.rank + i) % 2 == 0;
        const int to = (world.rank + 1 + i % (world.size - 1)) % world.size, tag = i % 2;
        MPI_Request send = MPI_REQUEST_NULL, barrier = MPI_REQUEST_NULL;
        if (sends) MPI_Issend(&world.rank, 1, MPI_INT, to, tag, comm, &send);
        int received = 0, expected = 0;
        bool is_over = false;
        while (!is_over) {
            int is_there = 0;
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &is_there, &status);
            if (is_there != 0) {
                int from = -1;
                MPI_Recv(&from, 1, MPI_INT, status.MPI_SOURCE, tag, comm, MPI_STATUS_IGNORE);
                EXPECT(from == status.MPI_SOURCE);
                ++received;
            }
            if (barrier != MPI_REQUEST_NULL)
                is_over = is_done(barrier);
            else if (is_done(send))
                MPI_Ibarrier(comm, &barrier);
        }
        for (int r = 0; r < world.size; ++r)
            if ((r + i) % 2 == 0 && (r + 1 + i % (world.size - 1)) % world.size == world.rank)
                ++expected;
        EXPECT(received == expected);
        check_sum(Job(comm), i);
        check_sum(world, i);
    }
    MPI_Comm_free(&comm);
}

void use_persistent_requests(const Job& world) {
    int out = -1, in = -1;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, next_of(world), 5, world.comm, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, world.comm, &requests[1]);
#if MPI_VERSION >= 4
    int sum = -1;
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Allreduce_init(&out, &sum, 1, MPI_INT, MPI_SUM, world.comm, MPI_INFO_NULL, &all);
#endif
    for (int i = 0; i < many_calls; ++i) {
        out = world.rank + i;
        MPI_Startall(2, requests);
        check_sum(world, i);
#if MPI_VERSION >= 4
        MPI_Start(&all);
        check_sum(world, i);
        MPI_Wait(&all, MPI_STATUS_IGNORE);
        EXPECT(sum == sum_of_ranks(world.size) + world.size * i);
#endif
        call_many_of_each_kind(world, 10, 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(in == previous_of(world) + i);
    }
#if MPI_VERSION >= 4
    MPI_Request_free(&all);
#endif
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

// Small and large messages of all send modes are outstanding.
void send_across_collectives(const Job& world) {
    constexpr int count = 100'000;
    std::vector<char> buffer(static_cast<std::size_t>(many_calls) *
                             (sizeof(int) + MPI_BSEND_OVERHEAD));
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    const auto large = given_by<int>(world.rank, count);
    std::vector<int> received(count);
    for (int i = 0; i < many_calls; ++i) {
        MPI_Bsend(&i, 1, MPI_INT, next_of(world), 1, world.comm);
        MPI_Request request = MPI_REQUEST_NULL;
        const bool is_large = i % 10 == 0;
        if (is_large)
            MPI_Isend(large.data(), count, MPI_INT, next_of(world), 2, world.comm, &request);
        check_sum(world, i);
        MPI_Barrier(world.comm);
        if (is_large) {
            MPI_Recv(received.data(), count, MPI_INT, previous_of(world), 2, world.comm,
                     MPI_STATUS_IGNORE);
            EXPECT(received.back() == given(previous_of(world), count - 1));
        }
        call_many_of_each_kind(world, 10, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < many_calls; ++i) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, world.comm, MPI_STATUS_IGNORE);
        EXPECT(got == i);
    }
    void* detached = nullptr;
    int size = 0;
    MPI_Buffer_detach(&detached, &size);
    EXPECT(detached == buffer.data());
}

void cancel_a_receive(const Job& world) {
    for (int i = 0; i < many_calls; ++i) {
        int never = -1, is_cancelled = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, &request);
        check_sum(world, i);
        call_many_of_each_kind(world, 10, 1);
        MPI_Cancel(&request);
        MPI_Status status;
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        EXPECT(is_cancelled != 0 && never == -1);
    }
}

// Each rank calls MPI_Put to a rank that waits in a collective.
void put_during_collectives(const Job& world) {
    int* mine = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    // MPICH 4.0: in windows of less than 16 bytes a rank sees other memory than its peers write to.
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, world.comm, &mine, &window);
    *mine = -1;
    MPI_Win_lock_all(0, window);
    MPI_Win_sync(window);
    MPI_Barrier(world.comm);
    for (int i = 0; i < many_calls; ++i) {
        MPI_Put(&i, 1, MPI_INT, next_of(world), 0, 1, MPI_INT, window);
        MPI_Win_flush(next_of(world), window);
        check_sum(world, i);
        MPI_Win_sync(window);
        EXPECT(*mine == i);
        call_many_of_each_kind(world, 10, 1);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

const Scenarios scenarios(
    {{"wildcards", "receives from MPI_ANY_SOURCE are posted before collectives", use_wildcards},
     {"probes", "the program probes for any message between collectives", probe},
     {"largest_tags", "messages have the largest tags that MPI allows", use_the_largest_tags},
     {"outstanding", "blocking calls run while non-blocking ones are outstanding",
      have_calls_outstanding},
     {"many_requests", "300 broadcasts are outstanding at the same time", have_many_requests},
     {"sparse_exchange", "ranks find the end of an exchange by MPI_Ibarrier", exchange_sparsely},
     {"persistent", "persistent requests are active during collectives", use_persistent_requests},
     {"buffered", "buffered and large messages are outstanding during collectives",
      send_across_collectives},
     {"cancelled", "a receive is cancelled after collectives", cancel_a_receive},
     {"windows", "ranks call MPI_Put between and during collectives", put_during_collectives}});

}  // namespace
