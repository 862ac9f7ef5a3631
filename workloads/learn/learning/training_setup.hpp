// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/learn/training/learning_rate.hpp"
#include "workloads/learn/training/network.hpp"

namespace tutti {

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

}  // namespace tutti
