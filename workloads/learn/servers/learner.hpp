// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "results/step.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// What a rank learns from: a network on its rows of the digits, batch after batch.
class DigitsLearner {
public:
    /// The rows are those of `train` that this rank may use; a step takes its share [n r / P,
    /// n (r + 1) / P) of each batch of them. Throws Error where the batch is not 1 to their number.
    struct Share {
        Rank rank = {0};
        int ranks = 1;
    };
    DigitsLearner(const std::string& network, Dataset train, int batch, Share share, unsigned seed);

    /// Weights and order of the batches as they were at first.
    void reset();

    /// The gradients of this rank's share of the next batch, as its part of the batch's mean; then
    /// waits until that has taken `times` as long, as on a slower machine. `meanwhile` is called
    /// after each gradient and all the time while it waits; its time does not count. Returns ns.
    std::int64_t compute_gradients(double times, const std::function<void()>& meanwhile);

    Network& network() { return network_; }
    const std::vector<float>& first_weights() const { return first_weights_; }
    int rows() const { return train_.rows(); }
    int batches_per_epoch() const { return order_->batches_per_epoch(); }

private:
    Dataset train_;
    int batch_;
    Share share_;
    unsigned seed_;
    std::unique_ptr<BatchOrder> order_;  // refuses a batch before there is a network
    Network network_;
    std::vector<float> first_weights_;
    Batch rows_;
};

/// A row of steps in which nobody meets in between.
struct StepBatch {
    std::int64_t steps = 1;
    bool computes = true;  ///< else: the gradients are those that are there
    bool communicates = true;
    bool learns = true;  ///< else: the same work at rate 0
};

/// A method to train that can be asked for rows of steps. Collective, all of it.
class FreeRunningTrainer {
public:
    virtual ~FreeRunningTrainer() = default;
    /// As it was at first: weights, optimizer, order of batches, counts.
    virtual void reset() = 0;
    /// Ranks have met just before. Notes one span: the communication of the row's first step,
    /// where all ranks wait for all. Throws Error (time_out) naming whom it waited for.
    virtual StepStamps run(const StepBatch& batch) = 0;
    /// The weights so far, the same on all ranks, in the learner's network.
    virtual void gather_weights() = 0;
    /// What it counted since it began anew; the same on all ranks.
    virtual std::vector<Metric> metrics() { return {}; }
};

/// What one step took where a row of `steps` was noted. Passages stay.
StepStamps of_one_step(StepStamps batch, std::int64_t steps);

}  // namespace tutti
