// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/federated_trainer.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "workloads/learn/servers/clients.hpp"

namespace tutti {

FederatedTrainer::FederatedTrainer(World& world, std::unique_ptr<WholeReduction> reduction,
                                   DigitsLearner& learner, Rules rules)
    : world_(world), reduction_(std::move(reduction)), learner_(learner), rules_(rules) {
    begin_anew();
}

void FederatedTrainer::begin_anew() {
    learner_.begin_anew();
    weights_ = learner_.first_weights();
    descent_ = sgd(weights_.size(), {.momentum = 0});
    round_ = averages_ = 0;
}

void FederatedTrainer::gather_weights() {
    std::ranges::copy(weights_, learner_.network().weights().begin());
}

// Who takes no part adds nothing, and gets the mean all the same.
void FederatedTrainer::average(bool takes_part) {
    const auto weights = learner_.network().weights();
    const auto values = reduction_->values();
    const float rows = takes_part ? static_cast<float>(learner_.rows()) : 0;
    for (std::size_t i = 0; i < weights.size(); ++i) values[i] = rows * weights[i];
    values[weights.size()] = rows;
    reduction_->run();
    const float all_rows = values[weights.size()];
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = values[i] / all_rows;
    ++averages_;
}

StepStamps FederatedTrainer::run(const StepRow& row) {
    StepStamps stamps{.begin_ns = now_ns(), .end_ns = 0, .compute_ns = 0, .calls = {{}}};
    gather_weights();
    Network& network = learner_.network();
    for (std::int64_t step = 0; step < row.steps; ++step) {
        const auto clients =
            clients_of_round(round_++, rules_.fraction, world_.size(), rules_.seed);
        const bool takes_part = std::ranges::binary_search(clients, world_.rank());
        for (std::int64_t local = 1; local <= rules_.local_steps; ++local) {
            if (row.computes && takes_part) {
                const std::int64_t began = now_ns();
                learner_.find_gradients(1, [] {});
                descent_->step(network.weights(), network.gradients(),
                               row.learns ? rules_.learning_rate : 0);
                stamps.compute_ns += now_ns() - began;
            }
            if (!row.communicates || (local < rules_.local_steps && !rules_.averages_every_step))
                continue;
            const std::int64_t arrived = now_ns();
            average(takes_part);
            if (stamps.calls.front().end_ns == 0) stamps.calls.front() = {arrived, now_ns()};
        }
    }
    if (row.communicates && row.learns) std::ranges::copy(network.weights(), weights_.begin());
    stamps.end_ns = now_ns();
    return stamps;
}

std::vector<Metric> FederatedTrainer::counted() {
    const double bytes = static_cast<double>((weights_.size() + 1) * sizeof(float));
    const double every_step = bytes * static_cast<double>(round_ * rules_.local_steps);
    const double handed_over = bytes * static_cast<double>(averages_);
    return {{"rounds", static_cast<double>(round_)},
            {"averages", static_cast<double>(averages_)},
            {"client_bytes", handed_over},
            {"bytes_saved", every_step > 0 ? 1 - handed_over / every_step : 0}};
}

}  // namespace tutti
