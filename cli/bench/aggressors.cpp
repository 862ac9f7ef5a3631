// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/aggressors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "base/clock.hpp"
#include "base/source.hpp"
#include "cli/ranks/cleaner.hpp"
#include "workloads/aggressors/loads.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

constexpr double start_limit_seconds = 10;
constexpr double start_seconds = 0.2;  // in which a command that does not exist has ended
constexpr double stop_limit_seconds = 1;

void go_on(pid_t worker) { ::kill(-worker, SIGCONT); }

// Returns once it is stopped. A process in the middle of a system call may need a moment.
void stop(pid_t worker) {
    ::kill(-worker, SIGSTOP);
    AwakeTime waited;
    while (!is_stopped(worker) && waited.look_seconds() < stop_limit_seconds)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
}

// Returns what it wrote to stderr, in brackets; empty if that is nothing.
std::string errors_of(const Child& aggressor) {
    std::string text = aggressor.errors();
    text.erase(text.find_last_not_of('\n') + 1);
    return text.empty() ? "" : " (" + text + ")";
}

// Returns line `number` of its output, from 0. Throws Error if it prints less.
std::string line_of(Child& aggressor, std::size_t number) {
    AwakeTime waited;
    while (waited.look_seconds() < start_limit_seconds) {
        const bool has_ended = aggressor.wait(0.001).has_value();
        std::istringstream lines(aggressor.output());
        std::string line;
        for (std::size_t i = 0; std::getline(lines, line) && !lines.eof(); ++i)
            if (i == number) return line;
        if (has_ended) break;
    }
    throw Error("an aggressor did not start" + errors_of(aggressor));
}

}  // namespace

Aggressors::Aggressors(World& world, const std::vector<std::string>& named) : world_(world) {
    for (const std::string& name : named) programs_.push_back(started(name));
    for (const Program& program : programs_)
        done_by_all(world_, [&] {
            if (program.load.supervisor == nullptr) return;
            go_on(program.load.worker);
            program.load.supervisor->wait(start_seconds);
            expect_running(program);
            stop(program.load.worker);
        });
}

Aggressors::Program Aggressors::started(const std::string& name) const {
    Program program{.name = name};
    const bool is_network = name == name_of(Load::network);
    if (is_network && world_.one_host())
        throw Error(
            "--aggressor network needs ranks on several hosts; use memory, cpu or a command");
    done_by_all(world_, [&] {
        if (world_.is_leader()) (is_network ? program.receiver : program.load) = run({name});
    });
    if (is_network) program.load = run_sender(program.receiver);
    return program;
}

Aggressors::Process Aggressors::run(const std::vector<std::string>& words) const {
    Command command{.words = {this_program(), "aggressor", "--parent", std::to_string(::getpid())}};
    command.words.insert(command.words.end(), words.begin(), words.end());
    Process process{.supervisor = std::make_unique<Child>(command)};
    const std::string line = line_of(*process.supervisor, 0);
    const auto number =
        line.starts_with(aggressor_is_ready)
            ? number_in<pid_t>(std::string_view(line).substr(aggressor_is_ready.size() + 1))
            : std::nullopt;
    if (!number) throw Error("an aggressor did not start" + errors_of(*process.supervisor));
    process.worker = *number;
    return process;
}

// Each host sends to the next one. Collective.
Aggressors::Process Aggressors::run_sender(const Process& receiver) const {
    std::string mine;
    done_by_all(world_, [&] {
        if (receiver.supervisor == nullptr) return;
        go_on(receiver.worker);
        const std::string port = line_of(*receiver.supervisor, 1);
        std::vector<std::string> ends;
        for (const std::string& address : addresses_of_host()) ends.push_back(address + ":" + port);
        mine = fmt::format("{}", fmt::join(ends, ","));
    });
    const auto of_rank = gather_all_texts(world_, mine);
    const auto leaders = world_.hosts().leaders();
    Process sender;
    done_by_all(world_, [&] {
        const auto own = std::ranges::find(leaders, world_.rank());
        if (own == leaders.end()) return;
        const Rank next = own + 1 == leaders.end() ? leaders.front() : own[1];
        sender = run({std::string(name_of(Load::network)), "--to", at(of_rank, next)});
        go_on(sender.worker);
        line_of(*sender.supervisor, 1);  // connected
    });
    return sender;
}

void Aggressors::expect_running(const Program& program) {
    for (const Process* process : {&program.receiver, &program.load}) {
        if (process->supervisor == nullptr) continue;
        if (const auto code = process->supervisor->wait(0))
            throw Error(
                fmt::format("--aggressor '{}' exited with code {}{}; use memory, cpu, network or a "
                            "command that runs until it is killed",
                            program.name, *code, errors_of(*process->supervisor)));
    }
}

std::vector<Disturbance> Aggressors::disturbances() {
    std::vector<Disturbance> all;
    for (const Program& program : programs_) {
        const auto order = [&program, this](void (*change)(pid_t)) {
            world_.barrier();  // other ranks may still be in a timed call
            done_by_all(world_, [&] {
                expect_running(program);
                if (program.load.supervisor != nullptr) change(program.load.worker);
            });
        };
        all.push_back({.name = program.name,
                       .begin = [order] { order(go_on); },
                       .end = [order] { order(stop); }});
    }
    return all;
}

}  // namespace tutti
