// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/data_parallel/trainer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/clock.hpp"
#include "workloads/learn/training/lbfgs.hpp"
#include "workloads/learn/training/optimizer.hpp"

namespace tutti {

BatchSequence::BatchSequence(const TrainingSetup& setup)
    : setup_(setup), order_(setup.data.train.rows(), setup.batch, setup.seed) {}

std::span<const int> BatchSequence::of_step(int number) {
    if (number + 1 < taken_) {
        order_ = BatchOrder(setup_.data.train.rows(), setup_.batch, setup_.seed);
        taken_ = 0;
    }
    for (; taken_ <= number; ++taken_) rows_ = order_.next();
    return rows_;
}

namespace {

// A batch a step, down its gradient.
class StochasticTrainer final : public Trainer {
public:
    StochasticTrainer(const TrainingSetup& setup, Rank rank, int ranks)
        : setup_(setup),
          rank_(rank),
          ranks_(ranks),
          network_(setup.new_network()),
          optimizer_(find_optimizer(setup.optimizer).make(network_.weights().size())),
          batches_(setup) {}

    Network& network() override { return network_; }

    double step(int number, Exchange& exchange) override {
        batch_.take(setup_.data.train, share_of(batches_.of_step(number), rank_, ranks_));
        const double loss = network_.forward(batch_, setup_.batch);
        network_.backward(batch_, [&](int tensor) { exchange.ready(network_, tensor); });
        exchange.finish(network_);
        optimizer_->step(network_.weights(), network_.gradients(), setup_.rate.at(number));
        return loss;
    }

    void save_state() override {
        saved_.assign(network_.weights().begin(), network_.weights().end());
    }
    void restore_state() override { std::ranges::copy(saved_, network_.weights().begin()); }

private:
    const TrainingSetup& setup_;
    Rank rank_;
    int ranks_;
    Network network_;
    std::unique_ptr<Optimizer> optimizer_;
    BatchSequence batches_;
    Batch batch_;
    std::vector<float> saved_;
};

// All rows in every step: each gradient is exchanged as of a batch; each loss is a sum over ranks,
// and so is each dot product, of which a rank adds up its part.
class LbfgsTrainer final : public Trainer {
public:
    LbfgsTrainer(const TrainingSetup& setup, Rank rank, int ranks)
        : setup_(setup),
          rank_(rank),
          ranks_(ranks),
          network_(setup.new_network()),
          weights_(network_.weights().begin(), network_.weights().end()),
          lbfgs_({.evaluate = [this](auto weights,
                                     auto gradient) { return evaluate(weights, gradient); },
                  .dot = [this](auto a, auto b) { return dot(a, b); }},
                 weights_.size()) {
        std::vector<int> rows(static_cast<std::size_t>(setup.data.train.rows()));
        std::iota(rows.begin(), rows.end(), 0);
        batch_.take(setup.data.train, share_of(rows, rank, ranks));
    }

    Network& network() override { return network_; }

    double step(int, Exchange& exchange) override {
        exchange_ = &exchange;
        const double loss = lbfgs_.step(weights_).loss;
        std::ranges::copy(weights_, network_.weights().begin());
        return rank_.index == 0 ? loss : 0;  // it is the whole batch's
    }

    void save_state() override { saved_ = std::make_unique<SavedState>(weights_, lbfgs_); }
    void restore_state() override {
        weights_ = saved_->weights;
        lbfgs_ = saved_->lbfgs;
    }

private:
    struct SavedState {
        SavedState(const std::vector<float>& of_weights, const Lbfgs& of_lbfgs)
            : weights(of_weights), lbfgs(of_lbfgs) {}
        std::vector<float> weights;
        Lbfgs lbfgs;
    };

    double evaluate(std::span<const float> weights, std::span<float> gradient) {
        std::ranges::copy(weights, network_.weights().begin());
        const double loss = network_.forward(batch_, setup_.data.train.rows());
        if (!gradient.empty()) {
            network_.backward(batch_, [&](int tensor) { exchange_->ready(network_, tensor); });
            exchange_->finish(network_);
            std::ranges::copy(network_.gradients(), gradient.begin());
        }
        return exchange_->sum(loss);
    }

    double dot(std::span<const float> a, std::span<const float> b) {
        const auto border = [&](int rank) {
            return a.size() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_);
        };
        const std::size_t from = border(rank_.index), count = border(rank_.index + 1) - from;
        return exchange_->sum(local_dot(a.subspan(from, count), b.subspan(from, count)));
    }

    const TrainingSetup& setup_;
    Rank rank_;
    int ranks_;
    Network network_;
    std::vector<float> weights_;
    Lbfgs lbfgs_;
    Batch batch_;
    Exchange* exchange_ = nullptr;
    std::unique_ptr<SavedState> saved_;
};

}  // namespace

std::unique_ptr<Trainer> trainer_of(const TrainingSetup& setup, Rank rank, int ranks) {
    if (setup.is_by_lbfgs()) return std::make_unique<LbfgsTrainer>(setup, rank, ranks);
    return std::make_unique<StochasticTrainer>(setup, rank, ranks);
}

namespace {

std::int64_t differing(World& world, std::span<const float> mine) {
    std::vector<float> first(mine.begin(), mine.end());
    world.broadcast(std::as_writable_bytes(std::span(first)));
    std::int64_t count = 0;
    for (std::size_t i = 0; i < mine.size(); ++i)
        count += std::bit_cast<std::uint32_t>(mine[i]) != std::bit_cast<std::uint32_t>(first[i]);
    return count;
}

// Shares of losses to losses: added up in rank order.
std::vector<double> sums(World& world, std::span<const double> mine) {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
    world.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    std::vector<double> sum(mine.size());
    for (std::size_t i = 0; i < all.size(); ++i) sum[i % sum.size()] += all[i];
    return sum;
}

}  // namespace

TrainingResult train(World& world, const TrainingSetup& setup, Exchange& exchange) {
    const auto trainer = trainer_of(setup, world.rank(), world.size());
    std::vector<double> shares;
    world.barrier();
    const std::int64_t began = now_ns();
    for (int step = 0; step < setup.steps(); ++step) {
        shares.push_back(trainer->step(step, exchange));
        world.heartbeat();  // a watchdog sees that they are alive
    }
    TrainingResult result;
    result.seconds = from_rank0(world, static_cast<double>(now_ns() - began) * 1e-9);
    result.losses = sums(world, shares);
    Network& network = trainer->network();
    result.differing_weights = differing(world, network.weights());
    result.accuracy = from_rank0(world, network.accuracy(setup.data.test));
    return result;
}

TrainingResult train_on_one_rank(World& world, const TrainingSetup& setup) {
    std::unique_ptr<Trainer> trainer;
    if (world.is_first()) trainer = trainer_of(setup, Rank{0}, 1);
    NoExchange nobody;
    TrainingResult result;
    const std::int64_t began = now_ns();
    // Step by step, so that nobody waits longer than for one.
    for (int step = 0; step < setup.steps(); ++step)
        result.losses.push_back(from_rank0(world, trainer ? trainer->step(step, nobody) : 0.0));
    result.seconds = from_rank0(world, static_cast<double>(now_ns() - began) * 1e-9);
    result.accuracy =
        from_rank0(world, trainer ? trainer->network().accuracy(setup.data.test) : 0.0);
    return result;
}

double difference_of_losses(const TrainingResult& one, const TrainingResult& other, int steps) {
    double most = 0;
    const std::size_t count = std::min(one.losses.size(), static_cast<std::size_t>(steps));
    for (std::size_t i = 0; i < count; ++i)
        most = std::max(most, std::abs(one.losses[i] - other.losses.at(i)));
    return one.losses.empty() ? 0 : most / std::abs(one.losses.front());
}

}  // namespace tutti
