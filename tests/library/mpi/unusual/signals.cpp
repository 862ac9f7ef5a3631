// SPDX-License-Identifier: Apache-2.0
// Signals, child processes, and ranks that arrive late.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "scenarios.hpp"

namespace {

using std::chrono::milliseconds;

volatile std::sig_atomic_t signals_caught = 0;
volatile double handlers_work = 0;
void work_in_handler(int) {
    signals_caught = signals_caught + 1;
    for (int i = 0; i < 1000; ++i) handlers_work = handlers_work + 0.5;
}
void reap_children(int) {
    const int code = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) signals_caught = signals_caught + 1;
    errno = code;
}

// Installs a signal handler and restores the previous one at the end of the block.
class Handler {
public:
    Handler(int signal, void (*function)(int), int flags = 0) : signal_(signal) {
        signals_caught = 0;
        struct sigaction action {};
        action.sa_handler = function;
        action.sa_flags = flags;
        sigaction(signal, &action, &before_);
    }
    ~Handler() { sigaction(signal_, &before_, nullptr); }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

private:
    int signal_;
    struct sigaction before_ {};
};

void set_timer(int microseconds) {
    const itimerval timer{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

// Runs work() in a child, which ends by _exit() so that it runs no exit handler of the parent.
template <class Work>
pid_t in_child(const Work& work) {
    const pid_t child = fork();
    if (child != 0) return child;
    work();
    _exit(0);
}

// Calls collectives until each rank has caught more than 20 signals.
void interrupt_by_timer(const Job& world) {
    for (const int flags : {0, SA_RESTART}) {
        const Handler handler(SIGALRM, work_in_handler, flags);
        set_timer(500 + 100 * world.rank);
        call_many_of_each_kind(world, 200);
        for (int enough = 0; enough == 0;) {
            const int mine = signals_caught > 20 ? 1 : 0;
            MPI_Allreduce(&mine, &enough, 1, MPI_INT, MPI_MIN, world.comm);
        }
        set_timer(0);
        EXPECT(signals_caught > 20);
    }
}

void signal_each_other(const Job& world) {
    const Handler handler(SIGUSR1, work_in_handler);
    std::vector<int> processes(static_cast<std::size_t>(world.size));
    const int mine = getpid();
    MPI_Allgather(&mine, 1, MPI_INT, processes.data(), 1, MPI_INT, world.comm);
    for (int i = 0; i < many_calls; ++i) {
        kill(processes[static_cast<std::size_t>((world.rank + 1) % world.size)], SIGUSR1);
        check_sum(world, i);
        call_many_of_each_kind(world, 10, 1);
    }
    EXPECT(signals_caught > 0);
}

void lose_children(const Job& world) {
    const Handler handler(SIGCHLD, reap_children);
    int children = 0;
    for (int i = 0; i < many_calls; ++i) {
        if (i % 10 == world.rank) children += in_child([] {}) > 0 ? 1 : 0;
        check_sum(world, i);
        call_many_of_each_kind(world, 10, 1);
    }
    while (signals_caught < children) std::this_thread::sleep_for(milliseconds(1));
    EXPECT(signals_caught == children);
}

// A child overwrites all buffers; those of the parent must not change.
void fork_children_that_write(const Job& world) {
    constexpr int count = 20'000;
    std::vector<int> send = given_by<int>(world.rank, world.size * count);
    std::vector<int> receive(send.size());
    for (int i = 0; i < 20; ++i) {
        const pid_t child = in_child([&] {
            std::ranges::fill(send, -7);
            std::ranges::fill(receive, -7);
        });
        for (int call = 0; call < 6; ++call)
            call_each_kind(world, {send.data(), receive.data(), call == 0 ? count : 100}, 0);
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT(status == 0);
    }
}

void start_programs(const Job& world) {
    for (int i = 0; i < 6; ++i) {
        call_many_of_each_kind(world, 10, 20);
        EXPECT(std::system("exit 3") == 3 << 8);
        std::FILE* const out = popen("echo $((2 + 3))", "r");
        int number = 0;
        EXPECT(std::fscanf(out, "%d", &number) == 1 && number == 5);
        check_sum(world, i);
        pclose(out);
    }
}

// A child stops rank 1 and continues it after 0.3 s. The other ranks wait for it meanwhile.
void be_stopped(const Job& world) {
    check_sums(world);
    pid_t child = -1;
    if (world.rank == 1)
        child = in_child([] {
            kill(getppid(), SIGSTOP);
            usleep(300'000);
            kill(getppid(), SIGCONT);
        });
    for (bool goes_on = true; goes_on;) {
        call_many_of_each_kind(world, 10, 5);
        int mine = child > 0 && waitpid(child, nullptr, WNOHANG) == 0 ? 1 : 0, any = 0;
        if (child > 0 && mine == 0) child = -1;
        MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, world.comm);
        goes_on = any == 1;
    }
    call_many_of_each_kind(world, 10);
}

void come_at_different_times(const Job& world) {
    call_many_of_each_kind(world, 10);
    for (int i = 0; i < 12; ++i) {
        std::this_thread::sleep_for(milliseconds((world.rank + i) % world.size * 5));
        check_sum(world, i);
        std::this_thread::sleep_for(milliseconds((world.rank * 3 + i) % world.size * 5));
        call_many_of_each_kind(world, 100, 1);
    }
}

// All signals are blocked during the calls, and are still blocked afterwards.
void block_signals(const Job& world) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    call_many_of_each_kind(world, 10);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, &before, &now);
    EXPECT(sigismember(&now, SIGUSR2) == 1);
}

// The program's signal handlers do not change.
void keep_its_surroundings(const Job& world) {
    const auto handlers = [] {
        std::vector<void*> all;
        for (int signal = 1; signal < 32; ++signal) {
            struct sigaction action {};
            sigaction(signal, nullptr, &action);
            all.push_back(reinterpret_cast<void*>(action.sa_handler));
        }
        return all;
    };
    const auto before = handlers();
    call_many_of_each_kind(world, 10);
    EXPECT(handlers() == before);
    errno = 77;
    check_sum(world);
}

const Scenarios scenarios(
    {{"timer", "a timer interrupts collectives every half millisecond", interrupt_by_timer},
     {"signalled", "ranks send signals to each other", signal_each_other},
     {"children_end", "children end during collectives and cause SIGCHLD", lose_children},
     {"children_write", "children overwrite their copies of the buffers", fork_children_that_write},
     {"programs", "system and popen start programs between calls", start_programs},
     {"stopped", "a rank is stopped for 0.3 s", be_stopped},
     {"late", "ranks arrive at very different times", come_at_different_times},
     {"blocked", "all signals are blocked", block_signals},
     {"surroundings", "signal handlers do not change", keep_its_surroundings}});

}  // namespace
