// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/federated_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "workloads/learn/training/random.hpp"

namespace tutti {

FederatedTrainer::FederatedTrainer(World& world, std::unique_ptr<VectorSum> reduction,
                                   DigitsLearner& learner, Rules rules)
    : world_(world), reduction_(std::move(reduction)), learner_(learner), rules_(rules) {
    reset();
}

void FederatedTrainer::reset() {
    learner_.reset();
    weights_ = learner_.first_weights();
    descent_ = sgd(weights_.size(), {.momentum = 0});
    round_ = averages_ = 0;
}

void FederatedTrainer::gather_weights() {
    std::ranges::copy(weights_, learner_.network().weights().begin());
}

// A client that does not take part adds nothing, but gets the mean.
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

StepStamps FederatedTrainer::run(std::int64_t steps, StepPart part) {
    StepStamps stamps{.begin_ns = now_ns(), .end_ns = 0, .compute_ns = 0, .calls = {{}}};
    gather_weights();
    Network& network = learner_.network();
    for (std::int64_t step = 0; step < steps; ++step) {
        const auto clients =
            clients_of_round(round_++, rules_.fraction, world_.size(), rules_.seed);
        const bool takes_part = std::ranges::binary_search(clients, world_.rank());
        for (std::int64_t local = 1; local <= rules_.local_steps; ++local) {
            if (computes(part) && takes_part) {
                const std::int64_t began = now_ns();
                learner_.compute_gradients(1, [] {});
                descent_->step(network.weights(), network.gradients(),
                               part == StepPart::whole ? rules_.learning_rate : 0);
                stamps.compute_ns += now_ns() - began;
            }
            if (!communicates(part) || (local < rules_.local_steps && !rules_.averages_every_step))
                continue;
            const std::int64_t arrived = now_ns();
            average(takes_part);
            if (stamps.calls.front().end_ns == 0) stamps.calls.front() = {arrived, now_ns()};
        }
    }
    if (part == StepPart::whole) std::ranges::copy(network.weights(), weights_.begin());
    stamps.end_ns = now_ns();
    return stamps;
}

std::vector<Metric> FederatedTrainer::metrics() {
    const double bytes = static_cast<double>((weights_.size() + 1) * sizeof(float));
    const double every_step = bytes * static_cast<double>(round_ * rules_.local_steps);
    const double sent = bytes * static_cast<double>(averages_);
    return {{"rounds", static_cast<double>(round_)},
            {"averages", static_cast<double>(averages_)},
            {"client_bytes", sent},
            {"bytes_saved", every_step > 0 ? 1 - sent / every_step : 0}};
}

namespace {

// Fisher-Yates shuffle.
template <class Value>
void shuffle(std::vector<Value>& values, unsigned long long random) {
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[next_random(random) % left]);
}

}  // namespace

Dataset rows_of_client(const Dataset& data, ClientData how, Rank client, int clients,
                       unsigned seed) {
    std::vector<int> order(as_size(data.rows()));
    std::iota(order.begin(), order.end(), 0);
    if (how == ClientData::iid)
        shuffle(order, seed);
    else
        std::ranges::stable_sort(order, {}, [&](int row) { return at(data.labels, row); });
    Dataset mine{
        .features = {}, .labels = {}, .class_names = data.class_names, .columns = data.columns};
    for (const int row : share_of(order, client, clients)) {
        const auto features = data.row(row);
        mine.features.insert(mine.features.end(), features.begin(), features.end());
        mine.labels.push_back(at(data.labels, row));
    }
    return mine;
}

std::vector<Rank> clients_of_round(std::int64_t round, double fraction, int clients,
                                   unsigned seed) {
    std::vector<Rank> all;
    for (int client = 0; client < clients; ++client) all.push_back(Rank{client});
    shuffle(all, seed * 0x9e3779b97f4a7c15ULL + static_cast<unsigned long long>(round));
    const auto some =
        as_size(std::clamp(std::lround(fraction * clients), 1L, static_cast<long>(clients)));
    all.resize(some);
    std::ranges::sort(all);
    return all;
}

}  // namespace tutti
