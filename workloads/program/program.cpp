// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace tutti {

const Call& GroupCall::in_step(std::int64_t step) const {
    return of_steps.empty() ? call : of_steps[as_size(step) % of_steps.size()];
}

void GroupCall::set_steps(std::vector<Call> calls) {
    call = *std::ranges::max_element(calls, {}, &Call::count);
    of_steps = calls.size() > 1 ? std::move(calls) : std::vector<Call>{};
}

const std::vector<Task>& Program::tasks_of(Rank rank) const {
    const auto index = as_size(rank);
    return tasks.at(role_of.empty() ? index : as_size(role_of.at(index)));
}

std::vector<Task>& Program::tasks_of(Rank rank) {
    return const_cast<std::vector<Task>&>(std::as_const(*this).tasks_of(rank));
}

int Program::add_call(GroupCall call) {
    calls.push_back(std::move(call));
    return static_cast<int>(calls.size()) - 1;
}

Call Program::with_lengths(Call call, std::span<const std::int64_t> counts, Blocks blocks) {
    call.count = std::ranges::max(counts);
    call.lengths = nullptr;
    const auto are_equal = std::ranges::count(counts, call.count) == std::ssize(counts);
    if (are_equal || blocks == Blocks::padded) return call;
    lengths.push_back(std::make_shared<const BlockLengths>(counts));
    call.lengths = lengths.back().get();
    return call;
}

void Program::compute(Rank rank, std::int64_t ns, Task::Phase phase) {
    compute(rank, std::vector{ns}, phase);
}

void Program::compute(Rank rank, std::vector<std::int64_t> ns_of_steps, Task::Phase phase) {
    if (std::ranges::count(ns_of_steps, 0) == std::ssize(ns_of_steps)) return;
    tasks_of(rank).push_back(
        {.kind = Task::Kind::compute, .phase = phase, .compute_ns = std::move(ns_of_steps)});
}

void Program::start(Rank rank, int call, Task::Phase phase) {
    tasks_of(rank).push_back({.kind = Task::Kind::start, .phase = phase, .call = call});
}

void Program::wait(Rank rank, int call, Task::Phase phase) {
    tasks_of(rank).push_back({.kind = Task::Kind::wait, .phase = phase, .call = call});
}

void Program::start_and_wait(Rank rank, int call, Task::Phase phase) {
    start(rank, call, phase);
    wait(rank, call, phase);
}

int Program::add_group(std::vector<Rank> members) {
    groups.push_back(std::move(members));
    return static_cast<int>(groups.size()) - 1;
}

std::vector<Rank> every_rank_of(int ranks) {
    std::vector<Rank> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back({rank});
    return all;
}

GroupCall all_reduce_call(std::string label, DataType type, std::int64_t count, Op op) {
    return {.label = std::move(label),
            .call = {.collective = Collective::all_reduce, .type = type, .op = op, .count = count},
            .in_place = true};
}

GroupWriter::GroupWriter(Program& program, std::vector<Rank> members)
    : program_(program), group_(program.add_group(std::move(members))) {
    std::set<const std::vector<Task>*> lists;
    for (const Rank rank : this->members())
        if (lists.insert(&program.tasks_of(rank)).second) writers_.push_back(rank);
}

int GroupWriter::add_call(GroupCall call) {
    call.group = group_;
    return program_.add_call(std::move(call));
}

void GroupWriter::compute(std::int64_t ns, Task::Phase phase) {
    for (const Rank rank : writers_) program_.compute(rank, ns, phase);
}

void GroupWriter::start(int call, Task::Phase phase) {
    for (const Rank rank : writers_) program_.start(rank, call, phase);
}

void GroupWriter::wait(int call, Task::Phase phase) {
    for (const Rank rank : writers_) program_.wait(rank, call, phase);
}

void GroupWriter::start_and_wait(int call, Task::Phase phase) {
    start(call, phase);
    wait(call, phase);
}

int place_in(const std::vector<Rank>& group, Rank rank) {
    const auto index = std::ranges::find(group, rank);
    return index == group.end() ? -1 : static_cast<int>(index - group.begin());
}

namespace {

bool differ_in_lengths_only(const Call& one, Call other) {
    other.count = one.count;
    other.lengths = one.lengths;
    return one == other;
}

class Checker {
public:
    explicit Checker(const Program& program) : program_(program) {}

    void check() const {
        for (const int role : program_.role_of)
            if (role < 0 || role >= std::ssize(program_.tasks))
                refuse("a rank has role {}; there are {} roles", role, program_.tasks.size());
        for (const auto& group : program_.groups) check_group(group);
        std::map<int, const GroupCall*> first_in;
        for (const GroupCall& one : program_.calls) {
            check_call(one);
            if (one.memory < 0) continue;
            const GroupCall& first = *first_in.try_emplace(one.memory, &one).first->second;
            if (one.group != first.group || one.in_place != first.in_place ||
                !differ_in_lengths_only(one.call, first.call))
                refuse("'{}' and '{}' share memory but differ", first.label, one.label);
        }
        std::vector<std::vector<int>> order_of_group(program_.groups.size());
        std::vector<char> is_known(program_.groups.size());
        for (int rank = 0; rank < program_.ranks(); ++rank) {
            const auto orders = orders_on(Rank{rank});
            for (std::size_t group = 0; group < program_.groups.size(); ++group) {
                if (place_in(program_.groups[group], Rank{rank}) < 0) continue;
                if (!is_known[group]) {
                    order_of_group[group] = orders[group];
                    is_known[group] = 1;
                } else if (order_of_group[group] != orders[group]) {
                    refuse("rank {} does not start the calls of group {} as rank {} does", rank,
                           group, program_.groups[group].front().index);
                }
            }
        }
        for (std::size_t group = 0; group < program_.groups.size(); ++group)
            if (static_cast<std::ptrdiff_t>(order_of_group[group].size()) !=
                std::ranges::count(program_.calls, static_cast<int>(group), &GroupCall::group))
                refuse("not every call of group {} is started", group);
    }

private:
    template <class... Words>
    [[noreturn]] void refuse(fmt::format_string<Words...> format, Words&&... words) const {
        throw Error(fmt::format("program '{}': {}", program_.name,
                                fmt::format(format, std::forward<Words>(words)...)));
    }

    void check_group(const std::vector<Rank>& group) const {
        if (group.empty()) refuse("a group has no ranks");
        for (const Rank rank : group)
            if (rank.index < 0 || rank.index >= program_.ranks())
                refuse("a group has rank {}; there are {} ranks", rank.index, program_.ranks());
        std::vector<Rank> sorted = group;
        std::ranges::sort(sorted);
        const auto twice = std::ranges::adjacent_find(sorted);
        if (twice != sorted.end()) refuse("rank {} is twice in a group", twice->index);
    }

    void check_call(const GroupCall& one) const {
        if (one.group < 0 || one.group >= static_cast<int>(program_.groups.size()))
            refuse("'{}' names group {}; there are {}", one.label, one.group,
                   program_.groups.size());
        for (const Call& of_step : one.of_steps)
            if (!differ_in_lengths_only(of_step, one.call) || of_step.count > one.call.count)
                refuse("'{}' is not the longest of the calls that it has in steps", one.label);
        const auto members = at(program_.groups, one.group).size();
        if (one.call.root.index < 0 || one.call.root.index >= static_cast<int>(members))
            refuse("'{}' has root {}; its group has {} ranks", one.label, one.call.root.index,
                   members);
        // The same limit as --counts: its bytes fit a number
        constexpr auto most = std::int64_t{1} << 44;
        if (one.call.count < 0 || one.call.count > most)
            refuse("'{}' has an invalid count of elements: {}", one.label, one.call.count);
    }

    // The calls that a rank starts, by group.
    std::vector<std::vector<int>> orders_on(Rank rank) const {
        enum class State : char { ahead, under_way, over };
        std::vector<State> states(program_.calls.size(), State::ahead);
        std::vector<std::vector<int>> orders(program_.groups.size());
        const auto& tasks = program_.tasks_of(rank);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            const Task& task = tasks[i];
            if (task.kind == Task::Kind::compute) {
                if (task.compute_ns.empty() || std::ranges::min(task.compute_ns) < 0)
                    refuse("task {} of rank {} has no computing time", i, rank.index);
                continue;
            }
            if (task.call < 0 || task.call >= static_cast<int>(program_.calls.size()))
                refuse("task {} of rank {} names call {}; there are {}", i, rank.index, task.call,
                       program_.calls.size());
            const GroupCall& one = at(program_.calls, task.call);
            State& state = at(states, task.call);
            if (task.kind == Task::Kind::start) {
                if (state != State::ahead)
                    refuse("rank {} starts '{}' twice", rank.index, one.label);
                if (place_in(at(program_.groups, one.group), rank) < 0)
                    refuse("rank {} starts '{}', but is not in its group", rank.index, one.label);
                for (std::size_t other = 0; one.memory >= 0 && other < states.size(); ++other)
                    if (states[other] == State::under_way &&
                        program_.calls[other].memory == one.memory)
                        refuse("rank {} starts '{}' while '{}' is under way in the same memory",
                               rank.index, one.label, program_.calls[other].label);
                state = State::under_way;
                at(orders, one.group).push_back(task.call);
            } else {
                if (state != State::under_way)
                    refuse("rank {} waits for '{}', which it has not started", rank.index,
                           one.label);
                state = State::over;
            }
        }
        const auto open = std::ranges::find(states, State::under_way);
        if (open != states.end())
            refuse("rank {} never waits for '{}'", rank.index,
                   at(program_.calls, open - states.begin()).label);
        return orders;
    }

    const Program& program_;
};

}  // namespace

void check(const Program& program) { Checker(program).check(); }

namespace {

std::int64_t bytes_of(const Program& program, int call, Rank rank) {
    const GroupCall& one = at(program.calls, call);
    const auto& group = at(program.groups, one.group);
    const Rank me{place_in(group, rank)};
    const int ranks = static_cast<int>(group.size());
    const auto bytes_of = [&](const Call& step) {
        const CollectiveSpec spec{step.collective, ranks, step.root};
        return static_cast<std::int64_t>(spec.input_blocks(me) > 0 ? input_bytes(step, ranks, me)
                                                                   : output_bytes(step, ranks, me));
    };
    if (one.of_steps.empty()) return bytes_of(one.call);
    std::int64_t bytes = 0;
    for (const Call& step : one.of_steps) bytes += bytes_of(step);
    return bytes / std::ssize(one.of_steps);
}

}  // namespace

std::int64_t bytes_of_step(const Program& program, Rank rank) {
    std::int64_t bytes = 0;
    for (const Task& task : program.tasks_of(rank))
        if (task.kind == Task::Kind::start) bytes += bytes_of(program, task.call, rank);
    return bytes;
}

std::int64_t hideable_bytes_of_step(const Program& program, Rank rank) {
    std::int64_t bytes = 0;
    std::size_t computed = 0;  // tasks that compute, so far
    std::vector<std::size_t> at_start(program.calls.size());
    for (const Task& task : program.tasks_of(rank)) {
        if (task.kind == Task::Kind::compute) {
            ++computed;
            continue;
        }
        std::size_t& started = at(at_start, task.call);
        if (task.kind == Task::Kind::start)
            started = computed;
        else if (computed > started)
            bytes += bytes_of(program, task.call, rank);
    }
    return bytes;
}

std::int64_t compute_ns_of_step(const Program& program, Rank rank, std::int64_t step) {
    std::int64_t ns = 0;
    for (const Task& task : program.tasks_of(rank))
        if (task.kind == Task::Kind::compute)
            ns += task.compute_ns[as_size(step) % task.compute_ns.size()];
    return ns;
}

}  // namespace tutti
