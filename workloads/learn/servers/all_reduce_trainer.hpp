// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/learn/servers/learner.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/program/changed_program.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// The sum of a float32 vector over all ranks, in one message and by a given method.
class VectorSum {
public:
    /// The call and its memory. Collective. Outlives the sums that use it.
    struct Site {
        Site(Planner& planner, std::size_t count, std::optional<BufferKind> buffers);
        Planner& planner;
        Call call;
        Environment environment;
        BufferPool pool;
    };

    /// Collective. Refused if the method cannot do it.
    static MadeOrRefused<VectorSum> make(Site& site, const Method& method);

    std::span<float> values() const;
    /// Replaces the values by their sums. Throws Error (time_out).
    void run();

    /// Whether the sum is exact but for rounding; else values are compressed.
    bool is_exact() const { return method_->is_exact(site_.call); }
    /// Returns the statistics of compression; null if nothing is compressed.
    CompressionTally* tally() const { return method_->tally(); }

private:
    explicit VectorSum(Site& site) : site_(site) {}

    Site& site_;
    std::unique_ptr<GroupMethod> method_;
    PooledBuffers buffers_;
    std::unique_ptr<Operation> operation_;
};

/// Training without servers: gradients are summed by an all-reduce, and each rank updates its own
/// copy of the weights. The baseline of parameter servers.
class AllReduceTrainer final : public FreeRunningTrainer {
public:
    AllReduceTrainer(World& world, std::unique_ptr<VectorSum> reduction, DigitsLearner& learner,
                     const OptimizerKind& optimizer, LearningRate rate, const Skew& skew);

    void reset() override;
    StepStamps run(std::int64_t steps, StepPart part) override;
    void gather_weights() override;

private:
    World& world_;
    std::unique_ptr<VectorSum> reduction_;
    DigitsLearner& learner_;
    const OptimizerKind& kind_;
    LearningRate rate_;
    Skew skew_;
    std::unique_ptr<Optimizer> optimizer_;
    std::vector<float> weights_;  // the learner's are all trainers' in turn
    int step_ = 0;
};

}  // namespace tutti
