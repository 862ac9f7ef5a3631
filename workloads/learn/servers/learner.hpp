// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "results/records/step.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// A network and a rank's rows of the digits, batch after batch.
class DigitsLearner {
public:
    /// The rows are those of `train` that this rank may use; a step takes its share [n r / P,
    /// n (r + 1) / P) of each batch of them. Throws Error where the batch is not 1 to their number.
    struct Share {
        Rank rank = {0};
        int ranks = 1;
    };
    DigitsLearner(const std::string& network, Dataset train, int batch, Share share, unsigned seed);

    /// Returns to the first weights and the first batch.
    void reset();

    /// The gradients of this rank's share of the next batch, as its part of the batch's mean. Takes
    /// `times` as long as computing does, as on a slower machine. Calls `meanwhile` after each
    /// gradient and while it waits. Returns the time without `meanwhile`, in ns.
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

/// A method to train whose steps have no barrier in between. All calls are collective.
class FreeRunningTrainer {
public:
    virtual ~FreeRunningTrainer() = default;
    /// Returns to the first weights, optimizer state, order of batches and counts.
    virtual void reset() = 0;
    /// Runs `steps` steps after a barrier. Without communication the gradients stay local. Only
    /// whole steps learn, others do the same work at rate 0. Has one call span: the communication
    /// of the first step, where all ranks wait for all. Throws Error (time_out) naming the ranks it
    /// waits for.
    virtual StepStamps run(std::int64_t steps, StepPart part = StepPart::whole) = 0;
    /// Puts the current weights, the same on all ranks, into the learner's network.
    virtual void gather_weights() = 0;
    /// Returns counters since reset(); the same on all ranks.
    virtual std::vector<Metric> metrics() { return {}; }
};

}  // namespace tutti
