// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/aggressors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "base/clock.hpp"
#include "workloads/aggressors/loads.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

constexpr double start_limit_seconds = 10;
constexpr double start_seconds = 0.2;  // in which a command that does not exist has ended
constexpr int stop = SIGUSR1, go_on = SIGUSR2;

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
    throw Error("an aggressor did not start: " + aggressor.last_words());
}

}  // namespace

Aggressors::Aggressors(World& world, const std::vector<std::string>& named) : world_(world) {
    for (const std::string& name : named) programs_.push_back(started(name));
    for (const Program& program : programs_)
        done_by_all(world_, [&] {
            if (program.process == nullptr) return;
            program.process->signal(go_on);
            program.process->wait(start_seconds);
            expect_running(program);
            program.process->signal(stop);
        });
}

Aggressors::Program Aggressors::started(const std::string& name) const {
    Program program{.name = name, .receiver = nullptr, .process = nullptr};
    if (name != name_of(Load::network)) {
        done_by_all(world_, [&] {
            if (world_.is_leader()) program.process = run({name});
        });
        return program;
    }
    if (world_.one_host())
        throw Error(
            "--aggressor network needs ranks on several hosts; use memory, cpu or a command");
    done_by_all(world_, [&] {
        if (world_.is_leader()) program.receiver = run({name});
    });
    program.process = run_sender(program.receiver.get());
    return program;
}

std::unique_ptr<Child> Aggressors::run(const std::vector<std::string>& words) const {
    Command command{.words = {this_program(), "aggressor", "--parent", std::to_string(::getpid())}};
    command.words.insert(command.words.end(), words.begin(), words.end());
    auto child = std::make_unique<Child>(command);
    if (line_of(*child, 0) != aggressor_is_ready)
        throw Error("an aggressor did not start: " + child->last_words());
    return child;
}

// Each host sends to the next one. Collective.
std::unique_ptr<Child> Aggressors::run_sender(Child* receiver) const {
    std::string mine;
    done_by_all(world_, [&] {
        if (receiver == nullptr) return;
        receiver->signal(go_on);
        const std::string port = line_of(*receiver, 1);
        std::vector<std::string> ends;
        for (const std::string& address : addresses_of_host()) ends.push_back(address + ":" + port);
        mine = fmt::format("{}", fmt::join(ends, ","));
    });
    const auto of_rank = gather_all_texts(world_, mine);
    const auto leaders = world_.hosts().leaders();
    std::unique_ptr<Child> sender;
    done_by_all(world_, [&] {
        const auto own = std::ranges::find(leaders, world_.rank());
        if (own == leaders.end()) return;
        const Rank next = own + 1 == leaders.end() ? leaders.front() : own[1];
        sender = run({std::string(name_of(Load::network)), "--to", at(of_rank, next)});
    });
    return sender;
}

void Aggressors::expect_running(const Program& program) {
    if (program.process == nullptr) return;
    const auto code = program.process->wait(0);
    if (!code) return;
    const std::string words = program.process->errors();
    throw Error(fmt::format(
        "--aggressor '{}' has ended with code {}{}; use memory, cpu, "
        "network or a command that runs until it is killed",
        program.name, *code,
        program.process->last_words().empty() ? "" : " (" + program.process->last_words() + ")"));
}

std::vector<Disturbance> Aggressors::disturbances() {
    std::vector<Disturbance> all;
    for (const Program& program : programs_) {
        const auto send = [&program, this](int signal) {
            done_by_all(world_, [&] {
                expect_running(program);
                if (program.process != nullptr) program.process->signal(signal);
            });
        };
        all.push_back({.name = program.name,
                       .begin = [send] { send(go_on); },
                       .end = [send] { send(stop); }});
    }
    return all;
}

}  // namespace tutti
