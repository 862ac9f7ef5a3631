// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/learning/trainer.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/learn/training/lbfgs.hpp"
#include "workloads/learn/training/optimizer.hpp"

namespace tutti {

BatchesOfSetup::BatchesOfSetup(const TrainingSetup& course)
    : course_(course), order_(course.data.train.rows(), course.batch, course.seed) {}

std::span<const int> BatchesOfSetup::of_step(int number) {
    if (number + 1 < taken_) {
        order_ = BatchOrder(course_.data.train.rows(), course_.batch, course_.seed);
        taken_ = 0;
    }
    for (; taken_ <= number; ++taken_) rows_ = order_.next();
    return rows_;
}

namespace {

// A batch a step, down its gradient.
class StochasticTrainer final : public Trainer {
public:
    StochasticTrainer(const TrainingSetup& course, Rank rank, int ranks)
        : course_(course),
          rank_(rank),
          ranks_(ranks),
          network_(course.new_network()),
          optimizer_(find_optimizer(course.optimizer).make(network_.weights().size())),
          batches_(course) {}

    Network& network() override { return network_; }

    double step(int number, Exchange& exchange) override {
        batch_.take(course_.data.train, share_of(batches_.of_step(number), rank_, ranks_));
        const double loss = network_.forward(batch_, course_.batch);
        network_.backward(batch_, [&](int tensor) { exchange.ready(network_, tensor); });
        exchange.finish(network_);
        optimizer_->step(network_.weights(), network_.gradients(), course_.rate.at(number));
        return loss;
    }

    void remember() override { kept_.assign(network_.weights().begin(), network_.weights().end()); }
    void rewind() override { std::ranges::copy(kept_, network_.weights().begin()); }

private:
    const TrainingSetup& course_;
    Rank rank_;
    int ranks_;
    Network network_;
    std::unique_ptr<Optimizer> optimizer_;
    BatchesOfSetup batches_;
    Batch batch_;
    std::vector<float> kept_;
};

// All rows in every step: each gradient is exchanged as of a batch; each loss is a sum over ranks,
// and so is each dot product, of which a rank adds up its part.
class LbfgsTrainer final : public Trainer {
public:
    LbfgsTrainer(const TrainingSetup& course, Rank rank, int ranks)
        : course_(course),
          rank_(rank),
          ranks_(ranks),
          network_(course.new_network()),
          weights_(network_.weights().begin(), network_.weights().end()),
          lbfgs_({.evaluate = [this](auto weights,
                                     auto gradient) { return evaluate(weights, gradient); },
                  .dot = [this](auto a, auto b) { return dot(a, b); }},
                 weights_.size()) {
        std::vector<int> rows(static_cast<std::size_t>(course.data.train.rows()));
        std::iota(rows.begin(), rows.end(), 0);
        batch_.take(course.data.train, share_of(rows, rank, ranks));
    }

    Network& network() override { return network_; }

    double step(int, Exchange& exchange) override {
        exchange_ = &exchange;
        const double loss = lbfgs_.step(weights_).loss;
        std::ranges::copy(weights_, network_.weights().begin());
        return rank_.index == 0 ? loss : 0;  // it is the whole batch's
    }

    void remember() override { kept_ = std::make_unique<Kept>(weights_, lbfgs_); }
    void rewind() override {
        weights_ = kept_->weights;
        lbfgs_ = kept_->lbfgs;
    }

private:
    struct Kept {
        Kept(const std::vector<float>& of_weights, const Lbfgs& of_lbfgs)
            : weights(of_weights), lbfgs(of_lbfgs) {}
        std::vector<float> weights;
        Lbfgs lbfgs;
    };

    double evaluate(std::span<const float> weights, std::span<float> gradient) {
        std::ranges::copy(weights, network_.weights().begin());
        const double loss = network_.forward(batch_, course_.data.train.rows());
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

    const TrainingSetup& course_;
    Rank rank_;
    int ranks_;
    Network network_;
    std::vector<float> weights_;
    Lbfgs lbfgs_;
    Batch batch_;
    Exchange* exchange_ = nullptr;
    std::unique_ptr<Kept> kept_;
};

}  // namespace

std::unique_ptr<Trainer> trainer_of(const TrainingSetup& course, Rank rank, int ranks) {
    if (course.is_by_lbfgs()) return std::make_unique<LbfgsTrainer>(course, rank, ranks);
    return std::make_unique<StochasticTrainer>(course, rank, ranks);
}

}  // namespace tutti
