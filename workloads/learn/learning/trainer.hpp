// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "workloads/learn/exchange/exchange.hpp"
#include "workloads/learn/learning/training_setup.hpp"

namespace tutti {

/// One rank's learning, step by step. Ranks whose exchange gives them the same bits stay equal, bit
/// for bit.
class Trainer {
public:
    virtual ~Trainer() = default;

    virtual Network& network() = 0;

    /// Step `number` of the course with this rank's share of its batch; what this rank adds to the
    /// whole batch's loss (of lbfgs after the step, else before it).
    virtual double step(int number, Exchange& exchange) = 0;

    /// rewind() leads back to where the last remember() was: the weights, and of lbfgs what it
    /// knows of earlier steps.
    virtual void remember() = 0;
    virtual void rewind() = 0;
};

/// The share is that of `rank` among `ranks`: share_of. The course outlives it. Throws Error where
/// network, optimizer or batch cannot be had.
std::unique_ptr<Trainer> trainer_of(const TrainingSetup& course, Rank rank, int ranks);

/// Rows of the batch of every step in turn: those of a course's whole batch.
class BatchesOfSetup {
public:
    explicit BatchesOfSetup(const TrainingSetup& course);
    /// Until the next call. Cheapest for this step or the next one.
    std::span<const int> of_step(int number);

private:
    const TrainingSetup& course_;
    BatchOrder order_;
    int taken_ = 0;
    std::span<const int> rows_;
};

}  // namespace tutti
