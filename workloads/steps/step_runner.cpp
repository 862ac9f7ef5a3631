// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/step_runner.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "collectives/world/backoff.hpp"
#include "workloads/program/ideal_run.hpp"

namespace tutti {
namespace {

// Why calls cannot be done: told of the first one, unless all say the same.
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

StepRunner::StepRunner(ProgramBuffers& stage)
    : stage_(stage),
      tasks_(stage.program().tasks_of(stage.world().rank())),
      of_group_(stage.program().groups.size()),
      operations_(stage.program().calls.size()) {
    under_way_.reserve(operations_.size());
    stamps_.calls.resize(operations_.size());
    // A call that is made may have the ranks of its group meet: others go on meanwhile.
    stage_.world().register_progress(*this);
}

// Ranks end what they share in one order, whatever groups they are in.
StepRunner::~StepRunner() {
    stage_.world().unregister_progress(*this);
    for (auto& operation : operations_) operation.reset();
    for (auto& way : of_group_) way.reset();
}

GroupMethod& StepRunner::way_of(int call) const {
    const auto& calls = stage_.program().calls;
    return *of_group_[static_cast<std::size_t>(calls[static_cast<std::size_t>(call)].group)];
}

std::unique_ptr<StepRunner> StepRunner::make(ProgramBuffers& stage, const Method& way,
                                             std::string& reason) {
    std::unique_ptr<StepRunner> runner(new StepRunner(stage));
    // In one order on all ranks, whatever groups they are in, so that none waits in a circle.
    const auto refused = runner->choose(way);
    for (const std::string& of_rank : gather_all_texts(stage.world(), refused.value_or("")))
        if (reason = of_rank; !reason.empty()) return nullptr;
    const auto& calls = stage.program().calls;
    if (!calls.empty() && true_on_all_ranks(stage.world(), !runner->has_any_of_its_own())) {
        reason = "none of the step's collectives has an algorithm of this name";
        return nullptr;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const int call = static_cast<int>(i);
        if (stage.group_of(call) != nullptr)
            runner->operations_[i] =
                runner->way_of(call).operation(calls[i].call, stage.buffers_of(call));
    }
    const bool is_exact = std::ranges::none_of(
        runner->of_group_, [](const auto& one) { return one && one->tally() != nullptr; });
    runner->compresses_ = !true_on_all_ranks(stage.world(), is_exact);
    if (runner->compresses_ && true_on_all_ranks(stage.world(), runner->does_all_exactly())) {
        reason =
            "only sums and means of float32 are compressed, and the step has none to all ranks";
        return nullptr;
    }
    return runner;
}

bool StepRunner::does_all_exactly() const {
    const auto& calls = stage_.program().calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
        if (operations_[i] && !way_of(static_cast<int>(i)).is_exact(calls[i].call)) return false;
    return true;
}

// How each group does its calls; why one of this rank's cannot be done so, if that is so.
std::optional<std::string> StepRunner::choose(const Method& way) {
    const auto& calls = stage_.program().calls;
    Refusals refusals;
    bool blocks = false;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto* group = stage_.group_of(static_cast<int>(i));
        if (group == nullptr) continue;
        auto& of_group = of_group_[static_cast<std::size_t>(calls[i].group)];
        if (!of_group) of_group = way.of_group(*group->plans, group->environment);
        blocks = blocks || of_group->blocks();
        refusals.add(calls[i].label,
                     of_group->refuses(calls[i].call, stage_.buffers_of(static_cast<int>(i))));
    }
    auto reason = refusals.reason();
    if (!reason && blocks) {
        try {
            ideal_run(stage_.program(), Sending::blocking);
        } catch (const Error& error) {
            reason = std::string("its ranks meet when a call starts: ") + error.what();
        }
    }
    return reason;
}

bool StepRunner::has_any_of_its_own() const {
    const auto& calls = stage_.program().calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
        if (stage_.group_of(static_cast<int>(i)) != nullptr &&
            way_of(static_cast<int>(i)).is_for(calls[i].call.collective))
            return true;
    return false;
}

void StepRunner::start(int call) {
    stamps_.calls[static_cast<std::size_t>(call)] = {.start_ns = now_ns()};
    operations_[static_cast<std::size_t>(call)]->start();
    under_way_.push_back(call);
    move_all();
}

// Whatever is under way, as one rank may wait for this one in a call of another group. The first of
// a group moves all of it; so many looks as there are groups, not as there are calls.
bool StepRunner::move_all() {
    moved_groups_.clear();
    const auto is_over = [&](int call) {
        const int group = stage_.program().calls[static_cast<std::size_t>(call)].group;
        Operation& operation = *operations_[static_cast<std::size_t>(call)];
        const std::size_t was_at = operation.progress_count();
        const bool is_first = std::ranges::find(moved_groups_, group) == moved_groups_.end();
        if (is_first) moved_groups_.push_back(group);
        const bool ended = is_first ? operation.test() : operation.is_done();
        went_on_ = went_on_ || ended || operation.progress_count() != was_at;
        if (ended) stamps_.calls[static_cast<std::size_t>(call)].end_ns = now_ns();
        return ended;
    };
    return std::erase_if(under_way_, is_over) > 0;
}

void StepRunner::wait(int call) {
    Backoff patience(stage_.world());
    went_on_ = false;
    while (std::ranges::find(under_way_, call) != under_way_.end()) {
        stage_.world().heartbeat();  // alive, for a watchdog: this wait has a deadline of its own
        move_all();
        if (std::exchange(went_on_, false))
            patience.renew();
        else if (!patience.pause())
            throw Error(operations_[static_cast<std::size_t>(call)]->hang_report() + ": '" +
                            stage_.program().calls[static_cast<std::size_t>(call)].label + "' of " +
                            stage_.program().name,
                        Exit::time_out);
    }
}

// A watchdog sees that this rank is alive, however long it computes.
std::int64_t StepRunner::compute(std::int64_t ns, Computer& computer) {
    constexpr std::int64_t sign_of_life_ns = 1'000'000'000;
    const std::function<bool()> meanwhile = [this] {
        move_all();
        return !under_way_.empty();
    };
    std::int64_t took = 0;
    while (true) {
        stage_.world().heartbeat();
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
                compute(task.compute_ns[static_cast<std::size_t>(number) % task.compute_ns.size()],
                        computer);
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

Trial StepRunner::checked(int call) const {
    return trial_of(
        *operations_[static_cast<std::size_t>(call)], stage_.group_of(call)->plans->world(),
        stage_.program().calls[static_cast<std::size_t>(call)].call, stage_.buffers_of(call), true);
}

// All that have memory of their own, under way together as in a step.
std::int64_t StepRunner::count_wrong_together(std::uint64_t seed) {
    std::vector<Trial> all;
    for (std::size_t i = 0; i < operations_.size(); ++i)
        if (operations_[i] && stage_.program().calls[i].memory < 0)
            all.push_back(checked(static_cast<int>(i)));
    for (const Trial& one : all) one.prepare(seed);
    stage_.world().barrier();
    const auto nothing = computer(ComputeMode::sleep, false);
    run(StepPart::communication, 0, *nothing);
    --steps_;
    std::int64_t wrong = 0;
    for (const Trial& one : all) wrong += one.count_wrong(seed);
    // Nobody spoils what another still reads.
    stage_.world().barrier();
    return wrong;
}

std::int64_t StepRunner::count_wrong_alone(int call, std::uint64_t seed) {
    const Trial trial = checked(call);
    World& ranks = stage_.group_of(call)->plans->world();
    trial.prepare(seed);
    ranks.barrier();
    start(call);
    wait(call);
    const std::int64_t wrong = trial.count_wrong(seed);
    ranks.barrier();
    return wrong;
}

std::optional<std::int64_t> StepRunner::count_wrong(std::uint64_t seed) {
    if (compresses_) {
        see_loss(seed);
        return std::nullopt;
    }
    std::int64_t wrong = count_wrong_together(seed);
    for (std::size_t i = 0; i < operations_.size(); ++i)
        if (operations_[i] && stage_.program().calls[i].memory >= 0)
            wrong += count_wrong_alone(static_cast<int>(i), seed);
    return wrong;
}

// Of the largest call of each group that is not exact.
void StepRunner::see_loss(std::uint64_t seed) {
    const auto& calls = stage_.program().calls;
    std::map<const Planner*, int> largest;
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
        const Call& call = calls[static_cast<std::size_t>(i)].call;
        const auto* group = stage_.group_of(i);
        if (group == nullptr || way_of(i).is_exact(call)) continue;
        const auto [known, is_new] = largest.try_emplace(group->plans, i);
        if (!is_new && call.count > calls[static_cast<std::size_t>(known->second)].call.count)
            known->second = i;
    }
    // In the order of calls, as on the other ranks.
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
        const auto* group = stage_.group_of(i);
        if (group == nullptr || !largest.contains(group->plans) || largest[group->plans] != i)
            continue;
        CompressionTally& tally = *way_of(i).tally();
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
    for (const auto& way : of_group_) {
        const CompressionTally* one = way ? way->tally() : nullptr;
        if (one == nullptr) continue;
        all.ns += one->ns;
        all.plain_bytes += one->plain_bytes;
        all.sent_bytes += one->sent_bytes;
    }
    return metrics_of(stage_.world(), all, loss_, steps_);
}

}  // namespace tutti
