// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/step_runner.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "collectives/transport/patience.hpp"
#include "workloads/program/ideal_run.hpp"

namespace tutti {
StepRunner::StepRunner(ProgramStage& stage)
    : stage_(stage),
      tasks_(stage.program().tasks[static_cast<std::size_t>(stage.world().rank().index)]),
      operations_(stage.program().calls.size()) {
    under_way_.reserve(operations_.size());
    stamps_.calls.resize(operations_.size());
}

std::unique_ptr<StepRunner> StepRunner::make(ProgramStage& stage, const Way& way,
                                             std::string& reason) {
    std::unique_ptr<StepRunner> runner(new StepRunner(stage));
    // In one order on all ranks, whatever groups they are in, so that none waits in a circle.
    const auto refused = runner->choose(way);
    for (const std::string& of_rank : gathered_texts(stage.world(), refused.value_or("")))
        if (reason = of_rank; !reason.empty()) return nullptr;
    const auto& calls = stage.program().calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
        if (const auto* group = stage.group_of(static_cast<int>(i)))
            runner->operations_[i] =
                runner->of_group_.at(group->plans)
                    ->operation(calls[i].call, stage.buffers_of(static_cast<int>(i)));
    const bool is_exact = std::ranges::none_of(
        runner->of_group_, [](const auto& group) { return group.second->tally() != nullptr; });
    runner->compresses_ = !holds_on_all(stage.world(), is_exact);
    return runner;
}

// How each group does its calls; why one of this rank's cannot be done so, if that is so.
std::optional<std::string> StepRunner::choose(const Way& way) {
    const auto& calls = stage_.program().calls;
    std::optional<std::string> reason;
    bool is_for_any = calls.empty();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto* group = stage_.group_of(static_cast<int>(i));
        if (group == nullptr) {
            is_for_any = true;  // the members know
            continue;
        }
        auto& of_group = of_group_[group->plans];
        if (!of_group) of_group = way.of_group(*group->plans, group->ground);
        is_for_any = is_for_any || of_group->is_for(calls[i].call.collective);
        const auto refused = of_group->refuses(calls[i].call, calls[i].in_place);
        if (refused && !reason) reason = calls[i].label + ": " + *refused;
    }
    const auto blocks = [](const auto& one) { return one.second->blocks(); };
    if (!reason && std::ranges::any_of(of_group_, blocks)) {
        try {
            ideal_run(stage_.program(), Sending::blocking);
        } catch (const Error& error) {
            reason = std::string("it blocks until a call is done: ") + error.what();
        }
    }
    if (!is_for_any) return "none of the step's collectives has an algorithm of this name";
    return reason;
}

void StepRunner::start(int call) {
    stamps_.calls[static_cast<std::size_t>(call)] = {.start_ns = now_ns()};
    operations_[static_cast<std::size_t>(call)]->start();
    under_way_.push_back(call);
    move_along();
}

// Whatever is under way, as one rank may wait for this one in a call of another group.
bool StepRunner::move_along() {
    const auto is_over = [&](int call) {
        if (!operations_[static_cast<std::size_t>(call)]->test()) return false;
        stamps_.calls[static_cast<std::size_t>(call)].end_ns = now_ns();
        return true;
    };
    return std::erase_if(under_way_, is_over) > 0;
}

void StepRunner::wait(int call) {
    Patience patience(stage_.world());
    while (std::ranges::find(under_way_, call) != under_way_.end()) {
        if (move_along())
            patience.renew();
        else if (!patience.pause())
            throw Error(operations_[static_cast<std::size_t>(call)]->report_of_hang() + ": '" +
                            stage_.program().calls[static_cast<std::size_t>(call)].label + "' of " +
                            stage_.program().name,
                        Exit::time_out);
    }
}

StepStamps StepRunner::run(StepPart part, std::int64_t number, Computer& computer) {
    return run(part, number, computer, tasks_);
}

StepStamps StepRunner::run(StepPart part, std::int64_t number, Computer& computer,
                           std::span<const Task> tasks) {
    if (part != StepPart::compute) ++steps_;
    std::ranges::fill(stamps_.calls, StepStamps::Passage{});
    stamps_.compute_ns = 0;
    const std::function<bool()> meanwhile = [this] {
        move_along();
        return !under_way_.empty();
    };
    stamps_.begin_ns = now_ns();
    computer.release();
    for (const Task& task : tasks) {
        if (task.kind == Task::Kind::compute) {
            if (part == StepPart::communication) continue;
            stamps_.compute_ns += computer.compute(
                task.compute_ns[static_cast<std::size_t>(number) % task.compute_ns.size()],
                meanwhile);
        } else if (part != StepPart::compute) {
            if (task.kind == Task::Kind::start) {
                start(task.call);
            } else {
                wait(task.call);
                computer.release();
            }
        }
    }
    stamps_.end_ns = now_ns();
    return stamps_;
}

std::int64_t StepRunner::count_wrong_of(int call, std::uint64_t seed) {
    Operation& operation = *operations_[static_cast<std::size_t>(call)];
    World& ranks = stage_.group_of(call)->plans->world();
    const Entrant entrant =
        entrant_of(operation, ranks, stage_.program().calls[static_cast<std::size_t>(call)].call,
                   stage_.buffers_of(call), true);
    entrant.prepare(seed);
    ranks.barrier();
    operation.run();
    const std::int64_t wrong = entrant.count_wrong(seed);
    // Nobody spoils what another still reads.
    ranks.barrier();
    return wrong;
}

std::optional<std::int64_t> StepRunner::count_wrong(std::uint64_t seed) {
    if (compresses_) {
        see_loss(seed);
        return std::nullopt;
    }
    std::int64_t wrong = 0;
    for (int call = 0; call < static_cast<int>(operations_.size()); ++call)
        if (operations_[static_cast<std::size_t>(call)]) wrong += count_wrong_of(call, seed);
    return wrong;
}

// Of the largest call of each group that is not exact.
void StepRunner::see_loss(std::uint64_t seed) {
    const auto& calls = stage_.program().calls;
    std::map<const Planner*, int> largest;
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
        const Call& call = calls[static_cast<std::size_t>(i)].call;
        const auto* group = stage_.group_of(i);
        if (group == nullptr || of_group_.at(group->plans)->is_exact(call)) continue;
        const auto [known, is_new] = largest.try_emplace(group->plans, i);
        if (!is_new && call.count > calls[static_cast<std::size_t>(known->second)].call.count)
            known->second = i;
    }
    // In the order of calls, as on the other ranks.
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
        const auto* group = stage_.group_of(i);
        if (group == nullptr || !largest.contains(group->plans) || largest[group->plans] != i)
            continue;
        CompressionTally& tally = *of_group_.at(group->plans)->tally();
        const Loss loss =
            loss_of(*operations_[static_cast<std::size_t>(i)], group->plans->world(),
                    calls[static_cast<std::size_t>(i)].call, stage_.buffers_of(i), tally, seed);
        if (loss.of_one > loss_.of_one) loss_ = loss;
        tally = {};
    }
}

std::vector<Metric> StepRunner::metrics() {
    if (!compresses_) return {};
    CompressionTally all;
    for (const auto& [group, way] : of_group_) {
        const CompressionTally* one = way->tally();
        if (one == nullptr) continue;
        all.ns += one->ns;
        all.plain_bytes += one->plain_bytes;
        all.sent_bytes += one->sent_bytes;
    }
    return metrics_of(stage_.world(), all, loss_, steps_);
}

}  // namespace tutti
