// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/all_reduce_trainer.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {

namespace {

std::vector<BufferKind> kinds_of(std::optional<BufferKind> one) {
    return one ? std::vector{*one} : std::vector<BufferKind>{};
}

}  // namespace

VectorSum::Site::Site(Planner& of, std::size_t count, std::optional<BufferKind> buffers)
    : planner(of),
      call{.collective = Collective::all_reduce,
           .type = DataType::float32,
           .op = Op::sum,
           .count = static_cast<std::int64_t>(count)},
      environment{.ranks = of.world().size(),
                  .hosts = of.world().hosts(),
                  .default_segment = default_segment(of.world())},
      pool(of.world(), BufferPool::bytes_for(call, of.world().size(), true), kinds_of(buffers)) {}

std::unique_ptr<VectorSum> VectorSum::make(Site& site, const Method& method, std::string& reason) {
    std::unique_ptr<VectorSum> made(new VectorSum(site));
    made->method_ = method.of_group(site.planner, site.environment);
    made->buffers_ = site.pool.set(site.call, true, site.pool.kinds().front());
    const auto refused = made->method_->is_for(Collective::all_reduce)
                             ? made->method_->refuses(site.call, made->buffers_)
                             : "all_reduce has no algorithm of this name";
    for (const std::string& of_rank : gather_all_texts(site.planner.world(), refused.value_or("")))
        if (reason = of_rank; !reason.empty()) return nullptr;
    made->operation_ = made->method_->operation(site.call, made->buffers_);
    return made;
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
                                   LearningRate rate, Slow slow)
    : world_(world),
      reduction_(std::move(reduction)),
      learner_(learner),
      kind_(optimizer),
      rate_(rate),
      slow_(slow) {
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

StepStamps AllReduceTrainer::run(const StepBatch& batch) {
    const double times = slow_.rank == world_.rank() ? slow_.times : 1;
    Network& network = learner_.network();
    StepStamps stamps{.begin_ns = now_ns(), .end_ns = 0, .compute_ns = 0, .calls = {{}}};
    gather_weights();
    for (std::int64_t step = 0; step < batch.steps; ++step) {
        if (batch.computes) stamps.compute_ns += learner_.compute_gradients(times, [] {});
        if (!batch.communicates) continue;
        std::ranges::copy(network.gradients(), reduction_->values().begin());
        const std::int64_t arrived = now_ns();
        reduction_->run();
        if (step == 0) stamps.calls.front() = {arrived, now_ns()};
        optimizer_->step(network.weights(), reduction_->values(),
                         batch.learns ? rate_.at(step_++) : 0);
    }
    std::ranges::copy(network.weights(), weights_.begin());
    stamps.end_ns = now_ns();
    return stamps;
}

}  // namespace tutti
