// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/source.hpp"
#include "cli/bench/aggressors.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "workloads/aggressors/loads.hpp"

namespace tutti {
namespace {

constexpr int most_threads = 4096;

pid_t worker = 0;  // process and group

// Runs the worker in a process group of its own, which is stopped at first; the line about it has
// its number. It ends with SIGTERM and with the parent, even if that is killed. Returns in the
// worker only. Throws Error if there can be no other process.
void supervise_worker(pid_t parent) {
    const pid_t started = ::fork();
    if (started < 0)
        throw Error(fmt::format("cannot start a process ({}); allow more processes (ulimit -u)",
                                std::strerror(errno)));
    if (started == 0) {
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::raise(SIGSTOP);
        return;
    }
    worker = started;
    ::setpgid(worker, worker);
    std::signal(SIGTERM, [](int) {
        ::kill(-worker, SIGKILL);
        ::_exit(128 + SIGTERM);
    });
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) std::raise(SIGTERM);
    int status = 0;
    while (::waitpid(worker, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    fmt::print("{} {}\n", aggressor_is_ready, worker);
    std::fflush(stdout);
    while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

// A rank is bound to its core; a program next to it is not.
void use_all_cores() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
    ::sched_setaffinity(0, sizeof all, &all);
}

[[noreturn]] void keep_busy(Load load) {
    load == Load::memory ? keep_memory_busy() : keep_core_busy();
}

}  // namespace

Exit run_aggressor(const Arguments& arguments) {
    std::string what;
    std::vector<std::string> targets;
    pid_t parent = 0;
    CLI::App app{
        "Keeps memory, cores or the network of this host busy until it is killed, so that its "
        "effect on other programs can be measured (see also 'tutti bench --aggressor').",
        "tutti aggressor"};
    app.add_option(
           "load", what,
           "memory[:THREADS] (copies of 128 MiB), cpu[:THREADS], network, or a shell command")
        ->required();
    const OptionGroup group(app, "Options");
    group
        .list("--to", targets,
              "For network: addresses HOST:PORT of a receiver, of which the first that answers is "
              "used; start it with 'tutti aggressor network', which prints its port")
        ->delimiter(',');
    app.add_option("--parent", parent)->group("");  // added by 'tutti bench'
    if (parse_or_help(app, arguments)) return Exit::ok;
    std::signal(SIGCHLD, SIG_DFL);  // an inherited ignored SIGCHLD would hide exit codes
    if (parent != 0) {
        use_all_cores();
        supervise_worker(parent);
    }
    const auto colon = what.find(':');
    const auto* load = find_in(NamesOf<Load>::rows, what.substr(0, colon));
    if (load == nullptr) {
        // Its output would fill the memory of the rank that started it.
        if (parent != 0 && std::freopen("/dev/null", "w", stdout) == nullptr) return Exit::usage;
        return std::system(what.c_str()) == 0 ? Exit::ok : Exit::usage;
    }
    if (load->value == Load::network && colon == what.npos) {
        const auto say = [](const auto& word) {
            fmt::print("{}\n", word);
            std::fflush(stdout);
        };
        if (!targets.empty()) send_for_ever(targets, [&] { say("connected"); });
        receive_for_ever([&](int port) { say(port); });
    }
    const auto threads =
        colon == what.npos ? 1 : number_in<int>(std::string_view(what).substr(colon + 1));
    if (load->value == Load::network || !threads || *threads < 1 || *threads > most_threads)
        throw Error(
            fmt::format("'{}' is not a load; use memory, cpu (both also with a number of "
                        "threads, such as memory:4) or network",
                        what));
    std::vector<std::jthread> others;
    for (int i = 1; i < *threads; ++i) others.emplace_back([=] { keep_busy(load->value); });
    keep_busy(load->value);
}

}  // namespace tutti
