// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/ideal_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

class Simulation {
public:
    Simulation(const Program& program, SendMode sending)
        : program_(program), mode_(sending), starts_(program.calls.size()) {
        for (std::size_t i = 0; i < program.calls.size(); ++i) {
            const auto group = as_size(program.calls[i].group);
            starts_[i].resize(program.groups[group].size());
        }
    }

    IdealRun run() {
        const auto ranks = as_size(program_.ranks());
        IdealRun run{std::vector<std::int64_t>(ranks), std::vector<std::int64_t>(ranks)};
        std::vector<std::size_t> next(ranks);
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks; ++rank)
                while (next[rank] < tasks_of(rank).size() && advance(run, rank, next[rank])) {
                    ++next[rank];
                    moved = true;
                }
        }
        for (std::size_t rank = 0; rank < ranks; ++rank)
            if (next[rank] < tasks_of(rank).size())
                throw Error(fmt::format("program '{}': deadlock: rank {} waits for '{}'",
                                        program_.name, rank,
                                        at(program_.calls, tasks_of(rank)[next[rank]].call).label));
        return run;
    }

private:
    const std::vector<Task>& tasks_of(std::size_t rank) const {
        return program_.tasks_of(Rank{static_cast<int>(rank)});
    }

    // False while it has to wait.
    bool advance(IdealRun& run, std::size_t rank, std::size_t index) {
        const Task& task = tasks_of(rank)[index];
        std::int64_t& now = run.end_ns[rank];
        if (task.kind == Task::Kind::compute) {
            now += task.compute_ns.front();
            run.compute_ns[rank] += task.compute_ns.front();
            return true;
        }
        const auto place = as_size(
            place_in(at(program_.groups, call_of(task).group), Rank{static_cast<int>(rank)}));
        auto& starts = at(starts_, task.call);
        if (task.kind == Task::Kind::start) {
            if (!starts[place]) starts[place] = now;
            if (mode_ != SendMode::blocking) return true;
        }
        const auto done = done_at(task, place);
        if (done) now = std::max(now, *done);
        return done.has_value();
    }

    const GroupCall& call_of(const Task& task) const { return at(program_.calls, task.call); }

    std::optional<std::int64_t> done_at(const Task& task, std::size_t place) const {
        const auto& starts = at(starts_, task.call);
        const Call& call = call_of(task).call;
        const auto root = as_size(call.root.index);
        const bool is_broadcast = call.collective == Collective::broadcast;
        if (is_broadcast && mode_ == SendMode::buffered) return starts[root];
        std::int64_t last = *starts[place];
        for (const auto& start : starts) {
            if (!start) return std::nullopt;
            last = std::max(last, *start);
        }
        return last;
    }

    const Program& program_;
    SendMode mode_;
    std::vector<std::vector<std::optional<std::int64_t>>> starts_;  // by call and place
};

}  // namespace

std::int64_t IdealRun::step_ns() const { return std::ranges::max(end_ns); }

double IdealRun::idle_share() const {
    const auto all = static_cast<double>(step_ns()) * static_cast<double>(end_ns.size());
    const auto busy = std::accumulate(compute_ns.begin(), compute_ns.end(), std::int64_t{0});
    return all > 0 ? 1 - static_cast<double>(busy) / all : 0;
}

IdealRun ideal_run(const Program& program, SendMode sending) {
    return Simulation(program, sending).run();
}

}  // namespace tutti
