// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/step_runner.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/backoff.hpp"
#include "workloads/program/ideal_run.hpp"

namespace tutti {
namespace {

// Returns why calls cannot be done: the first reason with its label, or without it if all agree.
class Refusals {
public:
    void add(const std::string& label, const std::optional<std::string>& why) {
        if (why && !first_) first_ = Refusal{label, *why};
        agree_ = agree_ && why && first_->why == *why;
    }
    std::optional<std::string> reason() const {
        if (!first_) return std::nullopt;
        return agree_ ? first_->why : first_->label + ": " + first_->why;
    }

private:
    struct Refusal {
        std::string label, why;
    };
    std::optional<Refusal> first_;
    bool agree_ = true;
};

}  // namespace

StepRunner::StepRunner(ProgramBuffers& buffers)
    : buffers_(buffers),
      tasks_(buffers.program().tasks_of(buffers.world().rank())),
      of_group_(buffers.program().groups.size()),
      operations_(buffers.program().calls.size()),
      buffers_of_steps_(operations_.size()) {
    under_way_.reserve(operations_.size());
    stamps_.calls.resize(operations_.size());
    // Making a call may need a barrier of its group: other calls progress meanwhile.
    buffers_.world().register_progress(*this);
}

// All ranks must end their shared calls in the same order in all groups.
StepRunner::~StepRunner() {
    buffers_.world().unregister_progress(*this);
    for (auto& operation : operations_) operation.reset();
    for (auto& method : of_group_) method.reset();
}

GroupMethod& StepRunner::method_of(int call) const {
    const auto& calls = buffers_.program().calls;
    return *at(of_group_, at(calls, call).group);
}

MadeOrRefused<StepRunner> StepRunner::make(ProgramBuffers& buffers, const Method& method) {
    std::unique_ptr<StepRunner> runner(new StepRunner(buffers));
    // All ranks must make calls in the same order in all groups to avoid deadlocks.
    if (auto refused = first_refusal(buffers.world(), runner->choose(method)))
        return {nullptr, std::move(*refused)};
    const auto& calls = buffers.program().calls;
    if (!calls.empty() && true_on_all_ranks(buffers.world(), !runner->has_any_algorithm())) {
        return {nullptr, "none of the step's collectives has an algorithm of this name"};
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const int call = static_cast<int>(i);
        if (buffers.group_of(call) == nullptr) continue;
        runner->operations_[i] =
            runner->method_of(call).operation(calls[i].call, buffers.buffers_of(call));
        for (const Call& step : calls[i].of_steps)
            runner->buffers_of_steps_[i].push_back(buffers.buffers_of(call, step));
    }
    const bool is_exact = std::ranges::none_of(
        runner->of_group_, [](const auto& one) { return one && one->tally() != nullptr; });
    runner->compresses_ = !true_on_all_ranks(buffers.world(), is_exact);
    if (runner->compresses_ && true_on_all_ranks(buffers.world(), runner->is_all_exact()))
        return {
            nullptr,
            "only sums and means of float32 are compressed, and the step has none to all ranks"};
    return {std::move(runner)};
}

bool StepRunner::is_all_exact() const {
    const auto& calls = buffers_.program().calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
        if (operations_[i] && !method_of(static_cast<int>(i)).is_exact(calls[i].call)) return false;
    return true;
}

// Chooses each group's method; returns the reason if it cannot do this rank's calls.
std::optional<std::string> StepRunner::choose(const Method& method) {
    const auto& calls = buffers_.program().calls;
    Refusals refusals;
    bool blocks = false;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto* group = buffers_.group_of(static_cast<int>(i));
        if (group == nullptr) continue;
        auto& of_group = at(of_group_, calls[i].group);
        if (!of_group) of_group = method.of_group(*group->plans, group->environment);
        blocks = blocks || of_group->blocks();
        const PooledBuffers buffers = buffers_.buffers_of(static_cast<int>(i));
        if (!calls[i].of_steps.empty() && buffers.call.device != nullptr)
            refusals.add(calls[i].label,
                         "plans for devices serve one length, but the call has another in each "
                         "step; use --buffers registered");
        else
            refusals.add(calls[i].label, of_group->refuses(calls[i].call, buffers));
    }
    auto reason = refusals.reason();
    if (!reason && blocks) {
        try {
            ideal_run(buffers_.program(), SendMode::blocking);
        } catch (const Error& error) {
            reason = std::string("its calls block until all ranks start them:  ") + error.what();
        }
    }
    return reason;
}

bool StepRunner::has_any_algorithm() const {
    const auto& calls = buffers_.program().calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
        if (buffers_.group_of(static_cast<int>(i)) != nullptr &&
            method_of(static_cast<int>(i)).is_for(calls[i].call.collective))
            return true;
    return false;
}

void StepRunner::start(int call, std::int64_t number) {
    at(stamps_.calls, call) = {.start_ns = now_ns()};
    Operation& operation = *at(operations_, call);
    if (const auto& of_steps = at(buffers_of_steps_, call); !of_steps.empty())
        operation.bind(at(buffers_.program().calls, call).in_step(number),
                       of_steps[as_size(number) % of_steps.size()].call);
    operation.start();
    under_way_.push_back(call);
    progress_all();
}

// Progresses everything under way, as a rank may wait for this one in a call of another group.
// Testing the first call of a group progresses the whole group, so one test per group is enough.
bool StepRunner::progress_all() {
    progressed_groups_.clear();
    const auto is_over = [&](int call) {
        const int group = at(buffers_.program().calls, call).group;
        Operation& operation = *at(operations_, call);
        const std::size_t was_at = operation.progress_count();
        const bool is_first =
            std::ranges::find(progressed_groups_, group) == progressed_groups_.end();
        if (is_first) progressed_groups_.push_back(group);
        const bool ended = is_first ? operation.test() : operation.is_done();
        made_progress_ = made_progress_ || ended || operation.progress_count() != was_at;
        if (ended) at(stamps_.calls, call).end_ns = now_ns();
        return ended;
    };
    return std::erase_if(under_way_, is_over) > 0;
}

void StepRunner::wait(int call) {
    Backoff backoff(buffers_.world());
    made_progress_ = false;
    while (std::ranges::find(under_way_, call) != under_way_.end()) {
        buffers_.world().heartbeat();  // for the watchdog, as this wait has its own deadline
        progress_all();
        if (std::exchange(made_progress_, false))
            backoff.renew();
        else if (!backoff.pause())
            throw Error(at(operations_, call)->hang_report() + ": '" +
                            at(buffers_.program().calls, call).label + "' of " +
                            buffers_.program().name,
                        Exit::time_out);
    }
}

// Computes in parts, so that the watchdog gets a heartbeat each second.
std::int64_t StepRunner::compute(std::int64_t ns, Computer& computer) {
    constexpr std::int64_t sign_of_life_ns = 1'000'000'000;
    const std::function<bool()> meanwhile = [this] {
        progress_all();
        return !under_way_.empty();
    };
    std::int64_t took = 0;
    while (true) {
        buffers_.world().heartbeat();
        const std::int64_t now = std::min(ns, sign_of_life_ns);
        took += computer.compute(now, meanwhile);
        if ((ns -= now) == 0) return took;
    }
}

StepStamps StepRunner::run(StepPart part, std::int64_t number, Computer& computer) {
    return run(part, number, computer, tasks_);
}

StepStamps StepRunner::run(StepPart part, std::int64_t number, Computer& computer,
                           std::span<const Task> tasks) {
    if (part != StepPart::compute) ++steps_;
    std::ranges::fill(stamps_.calls, StepStamps::Span{});
    stamps_.compute_ns = 0;
    stamps_.begin_ns = now_ns();
    computer.release();
    for (const Task& task : tasks) {
        if (task.kind == Task::Kind::compute) {
            if (part == StepPart::communication) continue;
            stamps_.compute_ns +=
                compute(task.compute_ns[as_size(number) % task.compute_ns.size()], computer);
        } else if (part != StepPart::compute) {
            if (task.kind == Task::Kind::start) {
                start(task.call, number);
            } else {
                wait(task.call);
                computer.release();
            }
        }
    }
    stamps_.end_ns = now_ns();
    return stamps_;
}

// Returns the trial of a call as it is in the first step.
Trial StepRunner::checked(int call) const {
    const Call& first = at(buffers_.program().calls, call).in_step(0);
    return trial_of(*at(operations_, call), buffers_.group_of(call)->plans->world(), first,
                    buffers_.buffers_of(call, first), true);
}

// Runs all calls with separate memory concurrently, as in a step.
std::int64_t StepRunner::count_wrong_concurrently(std::uint64_t seed) {
    std::vector<Trial> all;
    for (std::size_t i = 0; i < operations_.size(); ++i)
        if (operations_[i] && buffers_.program().calls[i].memory < 0)
            all.push_back(checked(static_cast<int>(i)));
    for (const Trial& one : all) one.prepare(seed);
    buffers_.world().barrier();
    const auto nothing = computer(ComputeMode::sleep, CoreUse::own);
    run(StepPart::communication, 0, *nothing);
    --steps_;
    std::int64_t wrong = 0;
    for (const Trial& one : all) wrong += one.count_wrong(seed);
    // No rank overwrites what another still reads.
    buffers_.world().barrier();
    return wrong;
}

std::int64_t StepRunner::count_wrong_of(int call, std::uint64_t seed) {
    const Trial trial = checked(call);
    World& ranks = buffers_.group_of(call)->plans->world();
    trial.prepare(seed);
    ranks.barrier();
    start(call, 0);
    wait(call);
    const std::int64_t wrong = trial.count_wrong(seed);
    ranks.barrier();
    return wrong;
}

std::optional<std::int64_t> StepRunner::count_wrong(std::uint64_t seed) {
    if (compresses_) {
        measure_error(seed);
        return std::nullopt;
    }
    std::int64_t wrong = count_wrong_concurrently(seed);
    for (std::size_t i = 0; i < operations_.size(); ++i)
        if (operations_[i] && buffers_.program().calls[i].memory >= 0)
            wrong += count_wrong_of(static_cast<int>(i), seed);
    return wrong;
}

// Measures the largest inexact call of each group.
void StepRunner::measure_error(std::uint64_t seed) {
    const auto& calls = buffers_.program().calls;
    std::map<const Planner*, int> largest;
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
        const Call& call = at(calls, i).call;
        const auto* group = buffers_.group_of(i);
        if (group == nullptr || method_of(i).is_exact(call)) continue;
        const auto [known, is_new] = largest.try_emplace(group->plans, i);
        if (!is_new && call.count > at(calls, known->second).call.count) known->second = i;
    }
    // In the order of calls, as on the other ranks.
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
        const auto* group = buffers_.group_of(i);
        if (group == nullptr || !largest.contains(group->plans) || largest[group->plans] != i)
            continue;
        CompressionTally& tally = *method_of(i).tally();
        const CompressionError error =
            compression_error(*at(operations_, i), group->plans->world(), at(calls, i).call,
                              buffers_.buffers_of(i), tally, seed);
        if (error.of_first_call > error_.of_first_call) error_ = error;
        tally = {};
    }
}

std::vector<Metric> StepRunner::metrics() {
    if (!compresses_) return {};
    CompressionTally all;
    for (const auto& method : of_group_) {
        const CompressionTally* one = method ? method->tally() : nullptr;
        if (one == nullptr) continue;
        all.ns += one->ns;
        all.plain_bytes += one->plain_bytes;
        all.sent_bytes += one->sent_bytes;
    }
    return metrics_of(buffers_.world(), all, error_, steps_);
}

}  // namespace tutti
