// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/reducing_trainer.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace tutti {

ReducingTrainer::ReducingTrainer(World& world, std::unique_ptr<WholeReduction> reduction,
                                 DigitsLearner& learner, const OptimizerKind& optimizer,
                                 LearningRate rate, Slow slow)
    : world_(world),
      reduction_(std::move(reduction)),
      learner_(learner),
      kind_(optimizer),
      rate_(rate),
      slow_(slow) {
    begin_anew();
}

void ReducingTrainer::begin_anew() {
    learner_.begin_anew();
    weights_ = learner_.first_weights();
    optimizer_ = kind_.make(weights_.size());
    step_ = 0;
}

void ReducingTrainer::gather_weights() {
    std::ranges::copy(weights_, learner_.network().weights().begin());
}

StepStamps ReducingTrainer::run(const StepRow& row) {
    const double times = slow_.rank == world_.rank() ? slow_.times : 1;
    Network& network = learner_.network();
    StepStamps stamps{.begin_ns = now_ns(), .end_ns = 0, .compute_ns = 0, .calls = {{}}};
    gather_weights();
    for (std::int64_t step = 0; step < row.steps; ++step) {
        if (row.computes) stamps.compute_ns += learner_.find_gradients(times, [] {});
        if (!row.communicates) continue;
        std::ranges::copy(network.gradients(), reduction_->values().begin());
        const std::int64_t arrived = now_ns();
        reduction_->run();
        if (step == 0) stamps.calls.front() = {arrived, now_ns()};
        optimizer_->step(network.weights(), reduction_->values(),
                         row.learns ? rate_.at(step_++) : 0);
    }
    std::ranges::copy(network.weights(), weights_.begin());
    stamps.end_ns = now_ns();
    return stamps;
}

}  // namespace tutti
