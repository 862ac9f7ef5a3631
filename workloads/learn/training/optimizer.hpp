// SPDX-License-Identifier: Apache-2.0
#pragma once
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

/// An optimizer that can be asked for by name.
struct OptimizerKind {
    const char* name;
    double learning_rate;  // where to begin with for the networks here, on one rank
    std::unique_ptr<Optimizer> (*make)(std::size_t weights);
};

std::span<const OptimizerKind> all_optimizers();

/// Throws Error where there is no such optimizer. (L-BFGS asks for gradients itself: lbfgs.hpp.)
const OptimizerKind& find_optimizer(std::string_view name);

}  // namespace tutti
