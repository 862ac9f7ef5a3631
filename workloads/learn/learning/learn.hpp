// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <climits>
#include <cstdint>
#include <vector>

#include "collectives/world/world.hpp"
#include "workloads/learn/learning/trainer.hpp"

namespace tutti {

/// What came of a course. The same on all ranks but where it says otherwise.
struct Learnt {
    std::vector<double> losses;  ///< of the whole batch, step by step
    double accuracy = 0;         ///< of the test rows, with rank 0's weights: from 0 to 1
    double seconds = 0;          ///< of rank 0
    /// Weights of this rank whose bits are not those of rank 0's.
    std::int64_t differing_weights = 0;
};

/// All ranks do the course from the start, each with its share of every batch. Collective.
Learnt learn(World& world, const TrainingSetup& course, Exchange& exchange);

/// Rank 0 alone does it, with whole batches. Collective.
Learnt learn_on_one_rank(World& world, const TrainingSetup& course);

/// The largest difference of two loss curves of equal length within so many steps, as a part of
/// their first value.
///
/// Ranks add up the same values as one rank in another order, so curves part by rounding: some
/// 1e-7 a step. Where a network has kinks (relu, the greatest of a pool) that holds until rounding
/// puts a sample on the other side of one: from there on they are two trainings, alike but not
/// equal.
double difference_of_losses(const Learnt& one, const Learnt& other, int steps = INT_MAX);

}  // namespace tutti
