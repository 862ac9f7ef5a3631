// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

namespace tutti {

/// Moves weights down their gradients. Its state of earlier steps belongs to one set of weights.
/// Works element by element, so ranks with equal weights and gradients stay equal, bit for bit.
class Optimizer {
public:
    virtual ~Optimizer() = default;

    /// Does one step; the spans must be as long as the optimizer was made for. Allocates nothing.
    virtual void step(std::span<float> weights, std::span<const float> gradients,
                      double learning_rate) = 0;
};

struct SgdOptions {
    double momentum = 0.9;
};

/// v = momentum v + g; w -= rate v, as in PyTorch.
std::unique_ptr<Optimizer> sgd(std::size_t weights, SgdOptions options = {});

struct AdamOptions {
    double first_decay = 0.9;
    double second_decay = 0.999;
    double epsilon = 1e-8;
};

/// Kingma & Ba 2015 (arXiv:1412.6980): steps by the mean gradient over the root of the mean square,
/// both corrected for their initial zeros.
std::unique_ptr<Optimizer> adam(std::size_t weights, AdamOptions options = {});

/// A row of the table of optimizers.
struct OptimizerKind {
    const char* name;
    double learning_rate;  // initial rate for the networks here, on one rank
    std::unique_ptr<Optimizer> (*make)(std::size_t weights);
};

std::span<const OptimizerKind> all_optimizers();

/// Throws Error if there is no such optimizer. (L-BFGS computes gradients itself: lbfgs.hpp.)
const OptimizerKind& find_optimizer(std::string_view name);

/// Learning rate over the steps (Goyal et al. 2017, arXiv:1706.02677). P ranks with a batch each
/// process a batch P times as large per step, so the rate is P times one rank's. While the weights
/// still change fast it grows from one rank's rate in equal steps. If the end of the training is
/// known, the rate falls to 0 over the second half, so that the last few batches do not dominate
/// the weights.
struct LearningRate {
    double of_one_rank = 0.1;
    int ranks = 1;
    int warm_up_steps = 0;
    int steps = 0;  // in total; 0 if unknown

    /// Returns the rate of a step, counted from 0; at its height P times of_one_rank.
    double at(int step) const {
        const double grown = step < warm_up_steps ? static_cast<double>(step) / warm_up_steps : 1;
        const double left = steps > 0 ? 2.0 * (steps - step) / steps : 1;
        return of_one_rank * (1 + (ranks - 1) * grown) * std::clamp(left, 0.0, 1.0);
    }
};

}  // namespace tutti
