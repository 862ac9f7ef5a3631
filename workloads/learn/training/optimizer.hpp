// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

namespace tutti {

/// Moves weights down their gradients. What it remembers of earlier steps belongs to one set of
/// weights. Element by element: ranks with equal weights and gradients stay equal, bit for bit.
class Optimizer {
public:
    virtual ~Optimizer() = default;

    /// One step; the spans must be as long as the optimizer was made for. Allocates nothing.
    virtual void step(std::span<float> weights, std::span<const float> gradients,
                      double learning_rate) = 0;
};

struct SgdOptions {
    double momentum = 0.9;
};

/// v = momentum v + g; w -= rate v, as PyTorch has it.
std::unique_ptr<Optimizer> sgd(std::size_t weights, SgdOptions options = {});

struct AdamOptions {
    double first_decay = 0.9;
    double second_decay = 0.999;
    double epsilon = 1e-8;
};

/// Kingma & Ba 2015 (arXiv:1412.6980): steps by the mean gradient over the root of the mean square,
/// both without their bias towards the zeros that they began with.
std::unique_ptr<Optimizer> adam(std::size_t weights, AdamOptions options = {});

/// A row of the table of optimizers.
struct OptimizerKind {
    const char* name;
    double learning_rate;  // where to begin with for the networks here, on one rank
    std::unique_ptr<Optimizer> (*make)(std::size_t weights);
};

std::span<const OptimizerKind> all_optimizers();

/// Throws Error where there is no such optimizer. (L-BFGS asks for gradients itself: lbfgs.hpp.)
const OptimizerKind& find_optimizer(std::string_view name);

/// Goyal et al. 2017 (arXiv:1706.02677): P ranks with a batch each take a batch P times as large
/// per step, so the rate is P times one rank's; but not from the start, while the weights still
/// change fast: it grows from one rank's rate in equal steps. Where it is known when training ends,
/// it falls to nothing over the second half, or the weights would be where the last few batches
/// threw them.
struct LearningRate {
    double of_one_rank = 0.1;
    int ranks = 1;
    int warm_up_steps = 0;
    int steps = 0;  // in all; 0 where that is not known

    /// Of a step counted from 0; at its height P times of_one_rank.
    double at(int step) const {
        const double grown = step < warm_up_steps ? static_cast<double>(step) / warm_up_steps : 1;
        const double left = steps > 0 ? 2.0 * (steps - step) / steps : 1;
        return of_one_rank * (1 + (ranks - 1) * grown) * std::clamp(left, 0.0, 1.0);
    }
};

}  // namespace tutti
