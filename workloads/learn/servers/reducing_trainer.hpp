// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "workloads/learn/servers/digits_learner.hpp"
#include "workloads/learn/servers/reduction.hpp"
#include "workloads/learn/servers/training_run.hpp"
#include "workloads/learn/training/learning_rate.hpp"
#include "workloads/learn/training/optimizer.hpp"

namespace tutti {

/// The same training without servers: gradients are summed by an all-reduce, and each rank moves
/// its own copy of the weights. What parameter servers are measured against.
class ReducingTrainer final : public RowTrainer {
public:
    struct Slow {
        std::optional<Rank> rank = {};
        double times = 1;
    };
    ReducingTrainer(World& world, std::unique_ptr<WholeReduction> reduction, DigitsLearner& learner,
                    const OptimizerKind& optimizer, LearningRate rate, Slow slow);

    void begin_anew() override;
    StepStamps run(const StepRow& row) override;
    void gather_weights() override;

private:
    World& world_;
    std::unique_ptr<WholeReduction> reduction_;
    DigitsLearner& learner_;
    const OptimizerKind& kind_;
    LearningRate rate_;
    Slow slow_;
    std::unique_ptr<Optimizer> optimizer_;
    std::vector<float> weights_;  // the learner's are all trainers' in turn
    int step_ = 0;
};

}  // namespace tutti
