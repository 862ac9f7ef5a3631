// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "workloads/learn/data_parallel/exchange.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"

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
    virtual void save_state() = 0;
    virtual void restore_state() = 0;
};

/// The share is that of `rank` among `ranks`: share_of. The course outlives it. Throws Error where
/// network, optimizer or batch cannot be had.
std::unique_ptr<Trainer> trainer_of(const TrainingSetup& setup, Rank rank, int ranks);

/// Rows of the batch of every step in turn: those of a course's whole batch.
class BatchSequence {
public:
    explicit BatchSequence(const TrainingSetup& setup);
    /// Until the next call. Cheapest for this step or the next one.
    std::span<const int> of_step(int number);

private:
    const TrainingSetup& setup_;
    BatchOrder order_;
    int taken_ = 0;
    std::span<const int> rows_;
};

/// What ranks learn together, and how: the same on all of them.
struct TrainingSetup {
    std::string network = "mlp";
    Split data;
    std::string optimizer = "sgd";  ///< or "lbfgs", whose steps take all rows
    int batch = 32;                 ///< rows of a step, of all ranks together
    int epochs = 10;
    LearningRate rate;  ///< of every step; not for lbfgs
    unsigned seed = 1;

    bool is_by_lbfgs() const { return optimizer == "lbfgs"; }
    int steps_of_epoch() const { return data.train.rows() / batch; }
    int steps() const { return epochs * steps_of_epoch(); }
    /// As it is before the first step. Throws Error as make_network does.
    Network new_network() const {
        return make_network(network, data.train.columns, data.train.classes(), seed);
    }
};

/// What came of a course. The same on all ranks but where it says otherwise.
struct TrainingResult {
    std::vector<double> losses;  ///< of the whole batch, step by step
    double accuracy = 0;         ///< of the test rows, with rank 0's weights: from 0 to 1
    double seconds = 0;          ///< of rank 0
    /// Weights of this rank whose bits are not those of rank 0's.
    std::int64_t differing_weights = 0;
};

/// All ranks do the course from the start, each with its share of every batch. Collective.
TrainingResult train(World& world, const TrainingSetup& setup, Exchange& exchange);

/// Rank 0 alone does it, with whole batches. Collective.
TrainingResult train_on_one_rank(World& world, const TrainingSetup& setup);

/// The largest difference of two loss curves of equal length within so many steps, as a part of
/// their first value.
///
/// Ranks add up the same values as one rank in another order, so curves part by rounding: some
/// 1e-7 a step. Where a network has kinks (relu, the greatest of a pool) that holds until rounding
/// puts a sample on the other side of one: from there on they are two trainings, alike but not
/// equal.
double difference_of_losses(const TrainingResult& one, const TrainingResult& other,
                            int steps = INT_MAX);

}  // namespace tutti
