// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/optimizer.hpp"

#include <cassert>
#include <cmath>
#include <vector>

#include "base/name_table.hpp"

namespace tutti {
namespace {

class Sgd : public Optimizer {
public:
    Sgd(std::size_t weights, SgdOptions options)
        : momentum_(static_cast<float>(options.momentum)), velocity_(weights) {}

    void step(std::span<float> weights, std::span<const float> gradients,
              double learning_rate) override {
        assert(weights.size() == velocity_.size() && gradients.size() == velocity_.size());
        const auto rate = static_cast<float>(learning_rate);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            velocity_[i] = momentum_ * velocity_[i] + gradients[i];
            weights[i] -= rate * velocity_[i];
        }
    }

private:
    float momentum_;
    std::vector<float> velocity_;
};

class Adam : public Optimizer {
public:
    Adam(std::size_t weights, AdamOptions options)
        : options_(options), mean_(weights), mean_square_(weights) {}

    void step(std::span<float> weights, std::span<const float> gradients,
              double learning_rate) override {
        assert(weights.size() == mean_.size() && gradients.size() == mean_.size());
        ++steps_;
        const auto rate =
            static_cast<float>(learning_rate / (1 - std::pow(options_.first_decay, steps_)));
        const auto unbias =
            static_cast<float>(1 / std::sqrt(1 - std::pow(options_.second_decay, steps_)));
        const auto first = static_cast<float>(options_.first_decay);
        const auto second = static_cast<float>(options_.second_decay);
        const auto epsilon = static_cast<float>(options_.epsilon);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const float gradient = gradients[i];
            mean_[i] = first * mean_[i] + (1 - first) * gradient;
            mean_square_[i] = second * mean_square_[i] + (1 - second) * gradient * gradient;
            weights[i] -= rate * mean_[i] / (std::sqrt(mean_square_[i]) * unbias + epsilon);
        }
    }

private:
    AdamOptions options_;
    int steps_ = 0;
    std::vector<float> mean_;
    std::vector<float> mean_square_;
};

constexpr OptimizerKind rows[] = {
    {"sgd", 0.05, [](std::size_t weights) { return sgd(weights); }},
    {"adam", 0.01, [](std::size_t weights) { return adam(weights); }},
};

}  // namespace

std::unique_ptr<Optimizer> sgd(std::size_t weights, SgdOptions options) {
    return std::make_unique<Sgd>(weights, options);
}

std::unique_ptr<Optimizer> adam(std::size_t weights, AdamOptions options) {
    return std::make_unique<Adam>(weights, options);
}

std::span<const OptimizerKind> all_optimizers() { return rows; }

const OptimizerKind& find_optimizer(std::string_view name) {
    return find_row(rows, "optimizer", name);
}

}  // namespace tutti
