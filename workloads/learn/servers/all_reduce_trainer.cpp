// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/all_reduce_trainer.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {

VectorSum::Site::Site(Planner& of, std::size_t count, std::optional<BufferKind> buffers)
    : planner(of),
      call{.collective = Collective::all_reduce,
           .type = DataType::float32,
           .op = Op::sum,
           .count = static_cast<std::int64_t>(count)},
      environment(environment_of(of.world())),
      pool(of.world(), BufferPool::bytes_for(call, of.world().size(), true),
           buffers ? std::span<const BufferKind>(&*buffers, 1) : std::span<const BufferKind>()) {}

MadeOrRefused<VectorSum> VectorSum::make(Site& site, const Method& method) {
    std::unique_ptr<VectorSum> made(new VectorSum(site));
    made->method_ = method.of_group(site.planner, site.environment);
    made->buffers_ = site.pool.buffers_for(site.call, true, site.pool.kinds().front());
    if (auto refusal = first_refusal(site.planner.world(),
                                     made->method_->is_for(Collective::all_reduce)
                                         ? made->method_->refuses(site.call, made->buffers_)
                                         : "all_reduce has no algorithm of this name"))
        return {nullptr, std::move(*refusal)};
    made->operation_ = made->method_->operation(site.call, made->buffers_);
    return {std::move(made)};
}

std::span<float> VectorSum::values() const {
    const std::span<std::byte> memory = buffers_.writable_input;
    return {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)};
}

void VectorSum::run() {
    World& world = site_.planner.world();
    operation_->start();
    Backoff backoff(world);
    while (!operation_->test())
        if (!backoff.pause()) throw Error(operation_->hang_report(), Exit::time_out);
    world.heartbeat();
}

AllReduceTrainer::AllReduceTrainer(World& world, std::unique_ptr<VectorSum> reduction,
                                   DigitsLearner& learner, const OptimizerKind& optimizer,
                                   LearningRate rate, const Skew& skew)
    : world_(world),
      reduction_(std::move(reduction)),
      learner_(learner),
      kind_(optimizer),
      rate_(rate),
      skew_(skew) {
    reset();
}

void AllReduceTrainer::reset() {
    learner_.reset();
    weights_ = learner_.first_weights();
    optimizer_ = kind_.make(weights_.size());
    step_ = 0;
}

void AllReduceTrainer::gather_weights() {
    std::ranges::copy(weights_, learner_.network().weights().begin());
}

StepStamps AllReduceTrainer::run(std::int64_t steps, StepPart part) {
    const double times = skew_.factor_of(world_.rank());
    Network& network = learner_.network();
    StepStamps stamps{.begin_ns = now_ns(), .end_ns = 0, .compute_ns = 0, .calls = {{}}};
    gather_weights();
    for (std::int64_t step = 0; step < steps; ++step) {
        if (computes(part)) stamps.compute_ns += learner_.compute_gradients(times, [] {});
        if (!communicates(part)) continue;
        std::ranges::copy(network.gradients(), reduction_->values().begin());
        const std::int64_t arrived = now_ns();
        reduction_->run();
        if (step == 0) stamps.calls.front() = {arrived, now_ns()};
        optimizer_->step(network.weights(), reduction_->values(),
                         part == StepPart::whole ? rate_.at(step_++) : 0);
    }
    std::ranges::copy(network.weights(), weights_.begin());
    stamps.end_ns = now_ns();
    return stamps;
}

}  // namespace tutti
