// SPDX-License-Identifier: Apache-2.0
// How programs start MPI and end. Each scenario is a program of its own.
#include <unistd.h>

#include <thread>

#include "scenarios.hpp"

namespace {

// Prints from rank 0. unusual_test.py compares output and exit code with a run without tutti.
void say(const char* what) {
    if (Job(MPI_COMM_WORLD).rank == 0) {
        std::printf("%s %s\n", what, checks.wrong == 0 ? "OK" : "WRONG");
        std::fflush(stdout);
    }
}

void work(const Job& job) { call_many_of_each_kind(job, 10); }

void make_no_calls() {
    int is_there = -1;
    MPI_Initialized(&is_there);
    EXPECT(is_there == 0);
    MPI_Init(nullptr, nullptr);
    say("no_calls");
    MPI_Finalize();
    MPI_Finalized(&is_there);
    EXPECT(is_there == 1);
}

void never_start() {
    int is_there = -1, is_over = -1;
    MPI_Initialized(&is_there);
    MPI_Finalized(&is_over);
    EXPECT(is_there == 0 && is_over == 0);
}

void exit_with_code() {
    MPI_Init(nullptr, nullptr);
    work(Job(MPI_COMM_WORLD));
    say("exit_code");
    MPI_Finalize();
    std::exit(checks.wrong == 0 ? 3 : 1);
}

void abort_with_code() {
    MPI_Init(nullptr, nullptr);
    const Job world(MPI_COMM_WORLD);
    work(world);
    say("abort_code");
    MPI_Barrier(world.comm);
    if (world.rank == world.size - 1) MPI_Abort(world.comm, 7);
    check_sums(world);  // waits for the last rank, until the job is aborted
}

void finalize_at_exit() {
    MPI_Init(nullptr, nullptr);
    std::atexit([] {
        check_sums(Job(MPI_COMM_WORLD));
        say("at_exit");
        MPI_Finalize();
    });
    work(Job(MPI_COMM_WORLD));
}

// Calls MPI_Finalize in the destructor of a static object.
struct Guard {
    ~Guard() {
        if (!is_used) return;
        check_sums(Job(MPI_COMM_WORLD));
        say("destructor");
        MPI_Finalize();
    }
    bool is_used = false;
};
Guard guard;
void finalize_in_destructor() {
    MPI_Init(nullptr, nullptr);
    guard.is_used = true;
    work(Job(MPI_COMM_WORLD));
}

// MPI_Finalize calls attribute delete functions of MPI_COMM_SELF before anything else.
void call_from_finalize() {
    MPI_Init(nullptr, nullptr);
    int key = MPI_KEYVAL_INVALID;
    const auto deletes = [](MPI_Comm, int, void*, void*) {
        check_sums(Job(MPI_COMM_WORLD));
        work(Job(MPI_COMM_WORLD));
        say("self_attribute");
        return MPI_SUCCESS;
    };
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deletes, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    work(Job(MPI_COMM_WORLD));
    MPI_Comm_free_keyval(&key);
    MPI_Finalize();
}

// The program never frees its communicators.
void leave_all_behind() {
    MPI_Init(nullptr, nullptr);
    const Job world(MPI_COMM_WORLD);
    for (int i = 0; i < 10; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_split(world.comm, 0, -world.rank, &comm);
        check_sums(Job(comm));
    }
    say("left_behind");
    MPI_Finalize();
}

// Ranks call MPI_Finalize, and end, at different times.
void end_at_different_times() {
    MPI_Init(nullptr, nullptr);
    const Job world(MPI_COMM_WORLD);
    work(world);
    int word = 5;
    for (int i = 0; i < many_calls; ++i) MPI_Bcast(&word, 1, MPI_INT, 0, world.comm);
    say("different_ends");
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * world.rank));
    MPI_Finalize();
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * (world.size - world.rank)));
}

// Another thread computes; only this one calls MPI.
void be_funneled() {
    int provided = -1, level = -1, is_main = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Query_thread(&level);
    EXPECT(level == provided && provided >= MPI_THREAD_FUNNELED);
    double sum = 0;
    std::thread other([&] {
        for (int i = 0; i < 1'000'000; ++i) sum += 0.5;
    });
    work(Job(MPI_COMM_WORLD));
    other.join();
    MPI_Is_thread_main(&is_main);
    EXPECT(is_main == 1 && sum == 500'000);
    say("funneled");
    MPI_Finalize();
}

// A thread that is not the process's first one starts MPI. So it is MPI's main thread.
void start_in_a_thread() {
    std::thread([] {
        int provided = -1;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        work(Job(MPI_COMM_WORLD));
        say("started_in_thread");
        MPI_Finalize();
    }).join();
}

void start_another_job() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm parents = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parents);
    const Job world(MPI_COMM_WORLD);
    const bool is_child = parents != MPI_COMM_NULL;
    MPI_Comm other = parents, both = MPI_COMM_NULL;
    check_sums(world);
    if (!is_child) {
        char path[4096]{}, word[] = "spawned";
        if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) MPI_Abort(world.comm, 70);
        char* words[] = {word, nullptr};
        MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
        if (MPI_Comm_spawn(path, words, 2, MPI_INFO_NULL, 0, world.comm, &other,
                           MPI_ERRCODES_IGNORE) != MPI_SUCCESS) {
            MPI_Finalize();
            std::exit(77);  // the test is skipped: this library or launcher cannot spawn
        }
        MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_ARE_FATAL);
    }
    MPI_Intercomm_merge(other, is_child ? 1 : 0, &both);
    check_sums(world);
    check_sums(Job(both));
    EXPECT(is_child || Job(both).size == world.size + 2);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&other);
    if (!is_child) say("spawned");
    MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
    const std::array list = std::to_array<Alone>(
        {{"no_calls", "the program makes no call between MPI_Init and MPI_Finalize", make_no_calls},
         {"never_started", "the program does not start MPI", never_start},
         {"exit_code", "all ranks end with exit code 3", exit_with_code},
         {"abort_code", "a rank calls MPI_Abort while the other ranks wait for it",
          abort_with_code},
         {"at_exit", "a function registered by atexit calls MPI_Finalize", finalize_at_exit},
         {"destructor", "the destructor of a static object calls MPI_Finalize",
          finalize_in_destructor},
         {"self_attribute",
          "MPI_Finalize calls an attribute delete function that calls collectives",
          call_from_finalize},
         {"left_behind", "the program never frees its communicators", leave_all_behind},
         {"different_ends", "ranks end at different times", end_at_different_times},
         {"funneled", "MPI_THREAD_FUNNELED, while another thread computes", be_funneled},
         {"started_in_thread", "a thread starts and ends MPI", start_in_a_thread},
         {"spawned", "MPI_Comm_spawn starts two ranks, and MPI_Intercomm_merge joins the groups",
          start_another_job}});
    const std::span<const Alone> all(list);
    if (argc < 2) return list_scenarios(all);
    find_scenario(all, argv[1]).run();
    return checks.wrong == 0 ? 0 : 1;
}
