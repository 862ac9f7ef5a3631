// SPDX-License-Identifier: Apache-2.0
// Collectives and threads. The program asks for MPI_THREAD_MULTIPLE.
#include <atomic>
#include <thread>

#include "scenarios.hpp"

namespace {

// Collects the checks of one thread; the main thread counts them after all threads have ended.
struct Result {
    bool is_right = true;

    void sums(MPI_Comm comm, int calls) {
        const Job job(comm);
        for (int i = 0; i < calls; ++i) {
            const int mine = job.rank + i;
            int sum = -1, word = job.rank == i % job.size ? i : -1;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
            MPI_Bcast(&word, 1, MPI_INT, i % job.size, comm);
            is_right = is_right && sum == sum_of_ranks(job.size) + job.size * i && word == i;
        }
    }
};

bool has_many_threads() {
    int level = -1;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

std::vector<MPI_Comm> copies_of(MPI_Comm comm, int many) {
    std::vector<MPI_Comm> all(static_cast<std::size_t>(many));
    for (MPI_Comm& copy : all) MPI_Comm_dup(comm, &copy);
    return all;
}

void use_communicators_of_their_own(const Job& world) {
    if (!has_many_threads()) return;
    auto comms = copies_of(world.comm, 4);
    std::vector<Result> results(comms.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < comms.size(); ++i)
        threads.emplace_back([&, i] { results[i].sums(comms[i], many_calls); });
    for (std::thread& thread : threads) thread.join();
    for (const Result& result : results) EXPECT(result.is_right);
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

// Threads make, use and free communicators, each from a parent communicator of its own.
void make_communicators_in_threads(const Job& world) {
    if (!has_many_threads()) return;
    auto parents = copies_of(world.comm, 3);
    std::vector<Result> results(parents.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parents.size(); ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 8; ++round) {
                MPI_Comm comm = MPI_COMM_NULL;
                MPI_Comm_dup(parents[i], &comm);
                results[i].sums(comm, round % 4 == 0 ? many_calls : 3);
                MPI_Comm_free(&comm);
                results[i].sums(parents[i], 3);
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const Result& result : results) EXPECT(result.is_right);
    for (MPI_Comm& comm : parents) MPI_Comm_free(&comm);
}

void call_from_another_thread(const Job& world) {
    if (!has_many_threads()) return;
    std::thread([&] { call_many_of_each_kind(world, 100); }).join();
    call_many_of_each_kind(world, 100, 10);
}

// A new thread makes each call, with buffers on its stack.
void call_from_new_threads(const Job& world) {
    if (!has_many_threads()) return;
    for (int i = 0; i < many_calls; ++i)
        std::thread([&] {
            int send[most_ranks * 100], receive[most_ranks * 100];
            fill(send, world.rank, most_ranks * 100);
            call_each_kind(world, {send, receive, 100}, i % world.size);
        }).join();
}

// Two threads take turns on one communicator, in a different order on each rank.
void take_turns_in_one_communicator(const Job& world) {
    if (!has_many_threads()) return;
    std::atomic<int> turn{0};
    Result results[2];
    const auto work = [&](int who) {
        for (int i = 0; i < many_calls; ++i) {
            if ((i + world.rank) % 2 != who) continue;
            while (turn.load() != i) std::this_thread::yield();
            results[who].sums(world.comm, 1);
            turn.store(i + 1);
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT(results[0].is_right && results[1].is_right);
}

// Another thread allocates, frees and starts threads while this one is in collectives.
void work_beside_calls(const Job& world) {
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        for (int i = 0; !is_over.load(); ++i) {
            std::vector<char> memory(static_cast<std::size_t>(i % 20 + 1) * 40'000, 'a');
            if (i % 10 == 0) std::thread([&] { memory.back() = 'b'; }).join();
            std::this_thread::yield();
        }
    });
    call_many_of_each_kind(world, 500);
    is_over.store(true);
    other.join();
}

// One thread receives from MPI_ANY_SOURCE while another is in collectives on the same communicator.
void receive_beside_calls(const Job& world) {
    if (!has_many_threads()) return;
    Result result;
    std::thread receiver([&] {
        for (int i = 0; i < many_calls; ++i) {
            int got = -1;
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, MPI_STATUS_IGNORE);
            result.is_right = result.is_right && got == i;
        }
    });
    for (int i = 0; i < many_calls; ++i) {
        MPI_Send(&i, 1, MPI_INT, (world.rank + 1) % world.size, i, world.comm);
        call_many_of_each_kind(world, 10, 1);
    }
    receiver.join();
    EXPECT(result.is_right);
}

void ask_for_the_main_thread(const Job& world) {
    const auto is_main = [] {
        int answer = -1;
        MPI_Is_thread_main(&answer);
        return answer;
    };
    call_many_of_each_kind(world, 10);
    EXPECT(is_main() == 1);
    int others = -1;
    std::thread([&] { others = is_main(); }).join();
    EXPECT(others == 0);
}

const Scenarios scenarios(
    {{"own_communicators", "four threads call at the same time, each on its own communicator",
      use_communicators_of_their_own},
     {"made_in_threads", "three threads make and free communicators at the same time",
      make_communicators_in_threads},
     {"another_thread", "a thread that is not the main thread calls collectives",
      call_from_another_thread},
     {"new_threads", "a new thread makes each call", call_from_new_threads},
     {"turns", "two threads take turns on one communicator", take_turns_in_one_communicator},
     {"concurrent", "another thread allocates memory and starts threads during collectives",
      work_beside_calls},
     {"receiver", "another thread receives from MPI_ANY_SOURCE on the same communicator",
      receive_beside_calls},
     {"main_thread", "MPI_Is_thread_main returns the right answer", ask_for_the_main_thread}},
    MPI_THREAD_MULTIPLE);

}  // namespace
