// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/learn/servers/learner.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// A sum of float32 over all ranks, in one message and done by a given method.
class VectorSum {
public:
    /// Collective. `buffers`: none is as usual. Outlives the reductions that use it.
    struct Site {
        Site(Planner& planner, std::size_t count, std::optional<BufferKind> buffers);
        Planner& planner;
        Call call;
        Environment environment;
        BufferPool pool;
    };

    /// Collective. Nothing if the method cannot do it; `reason` then says why.
    static std::unique_ptr<VectorSum> make(Site& site, const Method& method, std::string& reason);

    std::span<float> values() const;
    /// The sum in place of the values. Throws Error (time_out).
    void run();

    /// Whether it is the sum of the values as they are; else it is only near.
    bool is_exact() const { return method_->is_exact(site_.call); }
    /// What compressing did; null where nothing is compressed.
    CompressionTally* tally() const { return method_->tally(); }

private:
    explicit VectorSum(Site& site) : site_(site) {}

    Site& site_;
    std::unique_ptr<GroupMethod> method_;
    PooledBuffers buffers_;
    std::unique_ptr<Operation> operation_;
};

/// The same training without servers: gradients are summed by an all-reduce, and each rank moves
/// its own copy of the weights. What parameter servers are measured against.
class AllReduceTrainer final : public FreeRunningTrainer {
public:
    struct Slow {
        std::optional<Rank> rank = {};
        double times = 1;
    };
    AllReduceTrainer(World& world, std::unique_ptr<VectorSum> reduction, DigitsLearner& learner,
                     const OptimizerKind& optimizer, LearningRate rate, Slow slow);

    void reset() override;
    StepStamps run(const StepBatch& batch) override;
    void gather_weights() override;

private:
    World& world_;
    std::unique_ptr<VectorSum> reduction_;
    DigitsLearner& learner_;
    const OptimizerKind& kind_;
    LearningRate rate_;
    Slow slow_;
    std::unique_ptr<Optimizer> optimizer_;
    std::vector<float> weights_;  // the learner's are all trainers' in turn
    int step_ = 0;
};

}  // namespace tutti
