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

/// Setup of a training: the same on all ranks.
struct TrainingSetup {
    std::string network = "mlp";
    Split data;
    std::string optimizer = "sgd";  ///< or "lbfgs", whose steps take all rows
    int batch = 32;                 ///< rows of a step, of all ranks together
    int epochs = 10;
    LearningRate rate;  ///< in every step; not for lbfgs
    unsigned seed = 1;

    bool is_by_lbfgs() const { return optimizer == "lbfgs"; }
    int steps_of_epoch() const { return data.train.rows() / batch; }
    int steps() const { return epochs * steps_of_epoch(); }
    /// The network before the first step. Throws Error as make_network does.
    Network new_network() const {
        return make_network(network, data.train.columns, data.train.classes(), seed);
    }
};

/// One rank's part of a training, step by step. Ranks whose exchange gives them the same bits stay
/// equal, bit for bit.
class Trainer {
public:
    virtual ~Trainer() = default;

    virtual Network& network() = 0;

    /// Does step `number` of the training with this rank's share of its batch. Returns this rank's
    /// part of the whole batch's loss, before the step (lbfgs: after it).
    virtual double step(int number, Exchange& exchange) = 0;

    /// restore_state() goes back to the last save_state(): the weights, and of lbfgs its history.
    virtual void save_state() = 0;
    virtual void restore_state() = 0;
};

/// For the share of `rank` among `ranks` (share_of). The setup outlives it. Throws Error for
/// unknown networks and optimizers and for batches that the data does not have.
std::unique_ptr<Trainer> trainer_of(const TrainingSetup& setup, Rank rank, int ranks);

/// Result of a training; the same on all ranks except for differing_weights.
struct TrainingResult {
    std::vector<double> losses;  ///< for the whole batch, step by step
    double accuracy = 0;         ///< on the test rows, with rank 0's weights: from 0 to 1
    double seconds = 0;          ///< on rank 0
    /// Weights of this rank whose bits differ from rank 0's.
    std::int64_t differing_weights = 0;
};

/// Trains from the start on all ranks, each with its share of every batch. Collective.
TrainingResult train(World& world, const TrainingSetup& setup, Exchange& exchange);

/// Trains on rank 0 alone, with whole batches. Collective.
TrainingResult train_on_one_rank(World& world, const TrainingSetup& setup);

/// Returns the largest difference of two loss curves of equal length within the first `steps`,
/// relative to the first loss. Several ranks add the same values as one rank in another order, so
/// curves differ by rounding, some 1e-7 a step. With relu or max pooling they diverge once rounding
/// changes which side of a kink a sample is on.
double difference_of_losses(const TrainingResult& one, const TrainingResult& other,
                            int steps = INT_MAX);

}  // namespace tutti
