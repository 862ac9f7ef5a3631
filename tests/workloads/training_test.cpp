// SPDX-License-Identifier: Apache-2.0
// Networks: gradients against differences, their order against PyTorch's, what they learn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/learn/training/lbfgs.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"

namespace tutti {
namespace {

using Values = std::vector<float>;

const Split& digit_parts() {
    static const Split parts = split(digits());
    return parts;
}

Batch first_digits(int rows) {
    std::vector<int> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    Batch batch;
    batch.take(digit_parts().train, all);
    return batch;
}

Batch rows_of(const Batch& batch, int begin, int end) {
    const auto width = static_cast<std::ptrdiff_t>(batch.features.size()) / batch.rows();
    Batch part;
    part.features.assign(batch.features.begin() + begin * width,
                         batch.features.begin() + end * width);
    part.labels.assign(batch.labels.begin() + begin, batch.labels.begin() + end);
    return part;
}

double greatest_difference(std::span<const float> a, std::span<const float> b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
    return most;
}

struct Training {
    double accuracy = 0;
    double first_loss = 0;
    double last_loss = 0;
};

Training train(const NetworkKind& what, const OptimizerKind& kind) {
    const Split& data = digit_parts();
    Network network = make_network(what.name, data.train.columns, data.train.classes(), 1);
    const auto optimizer = kind.make(network.weights().size());
    BatchOrder order(data.train.rows(), 32, 1);
    const LearningRate rate{.of_one_rank = kind.learning_rate,
                            .steps = what.epochs * order.batches_per_epoch()};
    Batch batch;
    Training done;
    for (int step = 0; step < rate.steps; ++step) {
        batch.take(data.train, order.next());
        done.last_loss = network.forward(batch, batch.rows());
        if (step == 0) done.first_loss = done.last_loss;
        network.backward(batch);
        optimizer->step(network.weights(), network.gradients(), rate.at(step));
    }
    done.accuracy = network.accuracy(data.test);
    return done;
}

}  // namespace

// Along its own gradient each tensor changes the loss by the gradient's length, and along any
// other direction by its part in it; a short step passes few bends of a large batch.
TEST(EveryNetwork, HasTheGradientsThatDifferencesShow) {
    const Batch batch = first_digits(200);
    for (const NetworkKind& kind : all_networks()) {
        Network network = make_network(kind.name, 64, 10, 5);
        network.forward(batch, batch.rows());
        network.backward(batch);
        for (int tensor = 0; tensor < static_cast<int>(network.tensors().size()); ++tensor) {
            const auto found = network.gradient_of(tensor);
            const Values gradient(found.begin(), found.end());
            Values mixed = gradient;  // every second value alone
            for (std::size_t i = 0; i < mixed.size(); i += 2) mixed[i] = 0;
            for (const Values& direction : {gradient, mixed}) {
                const double length = std::sqrt(local_dot(direction, direction));
                ASSERT_GT(length, 0);
                const auto weights = network.weights_of(tensor);
                const Values kept(weights.begin(), weights.end());
                const auto loss_at = [&](double step) {
                    for (std::size_t i = 0; i < kept.size(); ++i)
                        weights[i] = kept[i] + static_cast<float>(step / length) * direction[i];
                    return network.forward(batch, batch.rows());
                };
                const double step = 4e-3;
                const double difference = (loss_at(step) - loss_at(-step)) / (2 * step);
                std::copy(kept.begin(), kept.end(), weights.begin());
                EXPECT_NEAR(difference / (local_dot(gradient, direction) / length), 1, 0.01)
                    << kind.name << " " << at(network.tensors(), tensor).name;
            }
        }
    }
}

TEST(EveryNetwork, HasTheParametersOfItsFormula) {
    const auto count = [](const char* name) {
        return make_network(name, 64, 10, 1).weights().size();
    };
    EXPECT_EQ(count("logistic"), 64u * 10 + 10);
    EXPECT_EQ(count("mlp"), 64u * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
    EXPECT_EQ(count("cnn"), 9u * 16 + 16 + 9 * 16 * 32 + 32 + 2 * 2 * 32 * 10 + 10);
    EXPECT_THROW(make_network("resnet", 64, 10, 1), Error);
    EXPECT_THROW(make_network("cnn", 63, 10, 1), Error);
}

TEST(EveryNetwork, LiesInOneVectorTensorAfterTensor) {
    for (const NetworkKind& kind : all_networks()) {
        Network network = make_network(kind.name, 64, 10, 1);
        std::size_t end = 0;
        for (std::size_t tensor = 0; tensor < network.tensors().size(); ++tensor) {
            EXPECT_EQ(network.tensors()[tensor].begin, end);
            EXPECT_EQ(network.gradient_of(static_cast<int>(tensor)).data(),
                      network.gradients().data() + end);
            end += network.tensors()[tensor].count;
        }
        EXPECT_EQ(end, network.weights().size());
        EXPECT_EQ(end, network.gradients().size());
    }
}

// PyTorch's order: layers backwards, of a linear layer the bias first, of a convolution the weight.
TEST(EveryNetwork, SaysWhichGradientIsReadyInPyTorchsOrder) {
    const std::pair<const char*, std::vector<int>> orders[] = {
        {"logistic", {1, 0}}, {"mlp", {5, 4, 3, 2, 1, 0}}, {"cnn", {5, 4, 2, 3, 0, 1}}};
    const Batch batch = first_digits(4);
    for (const auto& [name, order] : orders) {
        Network network = make_network(name, 64, 10, 1);
        network.forward(batch, 4);
        std::vector<int> said;
        network.backward(batch, [&](int tensor) { said.push_back(tensor); });
        EXPECT_EQ(said, order) << name;
    }
}

TEST(EveryNetwork, WritesNothingMoreToAGradientThatIsReady) {
    const Batch batch = first_digits(8);
    for (const NetworkKind& kind : all_networks()) {
        Network network = make_network(kind.name, 64, 10, 1);
        network.forward(batch, 8);
        Values when_ready(network.gradients().size());
        network.backward(batch, [&](int tensor) {
            const auto gradient = network.gradient_of(tensor);
            const auto begin = at(network.tensors(), tensor).begin;
            std::copy(gradient.begin(), gradient.end(),
                      when_ready.begin() + static_cast<std::ptrdiff_t>(begin));
        });
        EXPECT_TRUE(std::equal(when_ready.begin(), when_ready.end(), network.gradients().begin()))
            << kind.name;
    }
}

TEST(EveryNetwork, HasGradientsOfSharesThatAddUpToThoseOfTheBatch) {
    const Batch batch = first_digits(30);
    for (const NetworkKind& kind : all_networks())
        for (const int ranks : {1, 2, 4, 7, 32}) {
            Network network = make_network(kind.name, 64, 10, 1);
            const double whole_loss = network.forward(batch, 30);
            network.backward(batch);
            const Values whole(network.gradients().begin(), network.gradients().end());
            Values sum(whole.size());
            double loss = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const Batch share = rows_of(batch, 30 * rank / ranks, 30 * (rank + 1) / ranks);
                loss += network.forward(share, 30);
                network.backward(share);
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += network.gradients()[i];
            }
            EXPECT_NEAR(loss, whole_loss, 1e-12);
            // Some 30 roundings of values below 1.
            EXPECT_LT(greatest_difference(sum, whole), ranks == 1 ? 1e-30 : 2e-6)
                << kind.name << " " << ranks;
        }
}

// A batch of one row is what a row of a large batch is, bit for bit: so are their losses.
TEST(EveryNetwork, DoesNotSeeWhatElseIsInTheBatch) {
    const Batch batch = first_digits(9);
    for (const NetworkKind& kind : all_networks()) {
        Network network = make_network(kind.name, 64, 10, 1);
        double sum = 0;
        for (int row = 0; row < 9; ++row) sum += network.forward(rows_of(batch, row, row + 1), 1);
        EXPECT_NEAR(sum, network.forward(batch, 1), 1e-13) << kind.name;
    }
}

TEST(EveryNetwork, IsTheSameForTheSameSeed) {
    for (const NetworkKind& kind : all_networks()) {
        Network one = make_network(kind.name, 64, 10, 1);
        Network same = make_network(kind.name, 64, 10, 1);
        Network other = make_network(kind.name, 64, 10, 2);
        EXPECT_EQ(greatest_difference(one.weights(), same.weights()), 0);
        EXPECT_GT(greatest_difference(one.weights(), other.weights()), 0);
    }
}

TEST(Training, ReachesNinetyFivePercentOfTheDigitsWithEveryNetworkAndOptimizer) {
    for (const NetworkKind& kind : all_networks())
        for (const OptimizerKind& optimizer : all_optimizers()) {
            const Training done = train(kind, optimizer);
            RecordProperty(std::string(kind.name) + "_" + optimizer.name,
                           std::to_string(done.accuracy));
            EXPECT_NEAR(done.first_loss, std::log(10), 0.25);  // all digits alike at first
            EXPECT_LT(done.last_loss, 0.5);
            EXPECT_GE(done.accuracy, 0.95) << kind.name << " " << optimizer.name;
        }
}

TEST(Training, ReachesNinetyFivePercentOfTheDigitsByLbfgs) {
    const Split& data = digit_parts();
    const Batch all = first_digits(data.train.rows());
    for (const NetworkKind& kind : all_networks()) {
        Network network = make_network(kind.name, 64, 10, 1);
        const auto evaluate = [&](std::span<const float> weights, std::span<float> gradient) {
            std::copy(weights.begin(), weights.end(), network.weights().begin());
            const double loss = network.forward(all, all.rows());
            if (gradient.empty()) return loss;
            network.backward(all);
            std::copy(network.gradients().begin(), network.gradients().end(), gradient.begin());
            return loss;
        };
        Values weights(network.weights().begin(), network.weights().end());
        Lbfgs lbfgs({evaluate, local_dot}, weights.size());
        double before = 1e9;
        for (int step = 0; step < 100 && before > 0.02; ++step) {
            const auto done = lbfgs.step(weights);
            ASSERT_LT(done.loss, before);
            EXPECT_GE(done.losses, 1);
            before = done.loss;
        }
        std::copy(weights.begin(), weights.end(), network.weights().begin());
        const double accuracy = network.accuracy(data.test);
        RecordProperty(std::string(kind.name) + "_lbfgs", std::to_string(accuracy));
        EXPECT_GE(accuracy, 0.95) << kind.name << ", loss " << before;
    }
}

}  // namespace tutti
