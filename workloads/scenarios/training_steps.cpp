// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/training_steps.hpp"

#include <cmath>

#include "workloads/steps/compression_error.hpp"

namespace tutti {
namespace {

class TrainingSteps final : public Steps {
public:
    TrainingSteps(World& world, std::unique_ptr<FreeRunningTrainer> trainer, DigitsLearner& learner,
                  TrainingPlan plan)
        : world_(world), trainer_(std::move(trainer)), learner_(learner), plan_(std::move(plan)) {}

    StepStamps run(StepPart part, std::int64_t) override {
        StepStamps stamps = trainer_->run(plan_.steps_per_sample, part);
        const auto per_step = [&](std::int64_t ns) { return ns / plan_.steps_per_sample; };
        stamps.end_ns = stamps.begin_ns + per_step(stamps.end_ns - stamps.begin_ns);
        stamps.compute_ns = per_step(stamps.compute_ns);
        return stamps;  // the call span already is that of one step
    }

    std::optional<std::int64_t> count_wrong() override {
        if (!plan_.weights_of_one_rank) return std::nullopt;
        constexpr std::int64_t steps = 2;
        trainer_->reset();
        world_.barrier();
        trainer_->run(steps);
        trainer_->gather_weights();
        const auto expected = plan_.weights_of_one_rank(steps);
        const auto found = learner_.network().weights();
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < expected.size(); ++i)
            if (!(std::abs(found[i] - expected[i]) <= 1e-5f + 1e-4f * std::abs(expected[i])))
                ++wrong;
        trainer_->reset();
        return wrong;
    }

    // Trains from the beginning, without barriers between steps.
    std::vector<Metric> metrics() override {
        trainer_->reset();
        if (plan_.tally != nullptr) *plan_.tally = {};
        world_.barrier();
        const StepStamps stamps = trainer_->run(plan_.steps);
        const auto ns = from_rank0(world_, stamps.end_ns - stamps.begin_ns);
        trainer_->gather_weights();
        std::vector<Metric> metrics{
            {"accuracy", from_rank0(world_, learner_.network().accuracy(plan_.test))},
            {"free_step_ms", static_cast<double>(ns) * 1e-6 / static_cast<double>(plan_.steps)}};
        for (Metric& metric : trainer_->metrics()) metrics.push_back(std::move(metric));
        if (plan_.tally != nullptr)
            for (Metric& metric : metrics_of(world_, *plan_.tally, {}, plan_.steps))
                metrics.push_back(std::move(metric));
        return metrics;
    }

private:
    World& world_;
    std::unique_ptr<FreeRunningTrainer> trainer_;
    DigitsLearner& learner_;
    TrainingPlan plan_;
};

}  // namespace

std::unique_ptr<Steps> training_steps(World& world, std::unique_ptr<FreeRunningTrainer> trainer,
                                      DigitsLearner& learner, TrainingPlan plan) {
    return std::make_unique<TrainingSteps>(world, std::move(trainer), learner, std::move(plan));
}

}  // namespace tutti
