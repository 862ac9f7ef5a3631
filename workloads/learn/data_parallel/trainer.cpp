// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/data_parallel/trainer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "workloads/learn/training/lbfgs.hpp"

namespace tutti {

namespace {

// Common part of all trainers: a network and this rank's share of the data.
class ShareTrainer : public Trainer {
public:
    ShareTrainer(const TrainingSetup& setup, Rank rank, int ranks)
        : setup_(setup), rank_(rank), ranks_(ranks), network_(setup.new_network()) {}

    Network& network() override { return network_; }

protected:
    // Returns the loss of the rows that were taken, as their part of `whole_batch`.
    double forward(int whole_batch) { return network_.forward(batch_, whole_batch); }
    void backward(Exchange& exchange) {
        network_.backward(batch_, [&](int tensor) { exchange.ready(network_, tensor); });
        exchange.finish(network_);
    }
    void take_share_of(std::span<const int> rows) {
        batch_.take(setup_.data.train, share_of(rows, rank_, ranks_));
    }

    const TrainingSetup& setup_;
    Rank rank_;
    int ranks_;
    Network network_;

private:
    Batch batch_;
};

// Does one step of the optimizer for each batch.
class StochasticTrainer final : public ShareTrainer {
public:
    StochasticTrainer(const TrainingSetup& setup, Rank rank, int ranks)
        : ShareTrainer(setup, rank, ranks),
          optimizer_(find_optimizer(setup.optimizer).make(network_.weights().size())),
          order_(batch_order()) {}

    double step(int number, Exchange& exchange) override {
        take_share_of(rows_of_step(number));
        const double loss = forward(setup_.batch);
        backward(exchange);
        optimizer_->step(network_.weights(), network_.gradients(), setup_.rate.at(number));
        return loss;
    }

    void save_state() override {
        saved_.assign(network_.weights().begin(), network_.weights().end());
    }
    void restore_state() override { std::ranges::copy(saved_, network_.weights().begin()); }

private:
    BatchOrder batch_order() const { return {setup_.data.train.rows(), setup_.batch, setup_.seed}; }

    // Returns rows of the whole batch, valid until the next call. Going back more than a step
    // starts over.
    std::span<const int> rows_of_step(int number) {
        if (number + 1 < taken_) {
            order_ = batch_order();
            taken_ = 0;
        }
        for (; taken_ <= number; ++taken_) rows_ = order_.next();
        return rows_;
    }

    std::unique_ptr<Optimizer> optimizer_;
    BatchOrder order_;
    int taken_ = 0;  // batches
    std::span<const int> rows_;
    std::vector<float> saved_;
};

// Uses all rows in every step. Gradients are exchanged like those of a batch. Each loss and each
// dot product is a sum over ranks, of which a rank computes its part.
class LbfgsTrainer final : public ShareTrainer {
public:
    LbfgsTrainer(const TrainingSetup& setup, Rank rank, int ranks)
        : ShareTrainer(setup, rank, ranks),
          weights_(network_.weights().begin(), network_.weights().end()),
          lbfgs_({.evaluate = [this](auto weights,
                                     auto gradient) { return evaluate(weights, gradient); },
                  .dot = [this](auto a, auto b) { return dot(a, b); }},
                 weights_.size()) {
        std::vector<int> rows(as_size(setup.data.train.rows()));
        std::iota(rows.begin(), rows.end(), 0);
        take_share_of(rows);
    }

    double step(int, Exchange& exchange) override {
        exchange_ = &exchange;
        const double loss = lbfgs_.step(weights_).loss;
        std::ranges::copy(weights_, network_.weights().begin());
        return rank_.index == 0 ? loss : 0;  // it is the whole batch's loss
    }

    void save_state() override {
        saved_weights_ = weights_;
        saved_lbfgs_.emplace(lbfgs_);
    }
    void restore_state() override {
        weights_ = saved_weights_;
        lbfgs_ = *saved_lbfgs_;
    }

private:
    double evaluate(std::span<const float> weights, std::span<float> gradient) {
        std::ranges::copy(weights, network_.weights().begin());
        const double loss = forward(setup_.data.train.rows());
        if (!gradient.empty()) {
            backward(*exchange_);
            std::ranges::copy(network_.gradients(), gradient.begin());
        }
        return exchange_->sum(loss);
    }

    double dot(std::span<const float> a, std::span<const float> b) {
        const auto border = [&](int rank) { return a.size() * as_size(rank) / as_size(ranks_); };
        const std::size_t from = border(rank_.index), count = border(rank_.index + 1) - from;
        return exchange_->sum(local_dot(a.subspan(from, count), b.subspan(from, count)));
    }

    std::vector<float> weights_, saved_weights_;
    Lbfgs lbfgs_;
    std::optional<Lbfgs> saved_lbfgs_;
    Exchange* exchange_ = nullptr;
};

std::int64_t differing(World& world, std::span<const float> mine) {
    std::vector<float> first(mine.begin(), mine.end());
    world.broadcast(std::as_writable_bytes(std::span(first)));
    std::int64_t count = 0;
    for (std::size_t i = 0; i < mine.size(); ++i)
        count += std::bit_cast<std::uint32_t>(mine[i]) != std::bit_cast<std::uint32_t>(first[i]);
    return count;
}

}  // namespace

std::unique_ptr<Trainer> trainer_of(const TrainingSetup& setup, Rank rank, int ranks) {
    if (setup.is_by_lbfgs()) return std::make_unique<LbfgsTrainer>(setup, rank, ranks);
    return std::make_unique<StochasticTrainer>(setup, rank, ranks);
}

TrainingResult train(World& world, const TrainingSetup& setup, Exchange& exchange) {
    const auto trainer = trainer_of(setup, world.rank(), world.size());
    TrainingResult result;
    world.barrier();
    const std::int64_t began = now_ns();
    for (int step = 0; step < setup.steps(); ++step) {
        result.losses.push_back(trainer->step(step, exchange));
        world.heartbeat();  // a sign of life for the watchdog
    }
    result.seconds = from_rank0(world, static_cast<double>(now_ns() - began) * 1e-9);
    sum_in_rank_order(world, std::span(result.losses));
    Network& network = trainer->network();
    result.differing_weights = differing(world, network.weights());
    result.accuracy = from_rank0(world, network.accuracy(setup.data.test));
    return result;
}

TrainingResult train_on_one_rank(World& world, const TrainingSetup& setup) {
    std::unique_ptr<Trainer> trainer;
    if (world.is_first()) trainer = trainer_of(setup, Rank{0}, 1);
    NoExchange none;
    TrainingResult result;
    const std::int64_t began = now_ns();
    // Step by step, so that no rank waits for longer than one step.
    for (int step = 0; step < setup.steps(); ++step)
        result.losses.push_back(from_rank0(world, trainer ? trainer->step(step, none) : 0.0));
    result.seconds = from_rank0(world, static_cast<double>(now_ns() - began) * 1e-9);
    result.accuracy =
        from_rank0(world, trainer ? trainer->network().accuracy(setup.data.test) : 0.0);
    return result;
}

double difference_of_losses(const TrainingResult& one, const TrainingResult& other, int steps) {
    double most = 0;
    const std::size_t count = std::min(one.losses.size(), as_size(steps));
    for (std::size_t i = 0; i < count; ++i)
        most = std::max(most, std::abs(one.losses[i] - other.losses.at(i)));
    return one.losses.empty() ? 0 : most / std::abs(one.losses.front());
}

}  // namespace tutti
