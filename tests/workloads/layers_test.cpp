// SPDX-License-Identifier: Apache-2.0
// Matrix products and each layer alone: values against formulas, gradients against differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "workloads/learn/training/layer.hpp"
#include "workloads/learn/training/lbfgs.hpp"
#include "workloads/learn/training/matrix_product.hpp"
#include "workloads/learn/training/random.hpp"

namespace tutti {
namespace {

using Values = std::vector<float>;

Values random_values(std::size_t count, unsigned long long seed) {
    Values values(count);
    for (float& value : values) value = next_uniform(seed);
    return values;
}

// A layer under the loss sum(by * out), whose gradient by out is `by`: everything that backward
// says is compared with what changes when one value does.
class UnderASum {
public:
    UnderASum(std::unique_ptr<Layer> layer, Values in, int rows)
        : layer_(std::move(layer)),
          rows_(rows),
          in_(std::move(in)),
          by_(random_values(static_cast<std::size_t>(rows * layer_->output().size()), 2)) {
        std::size_t count = 0;
        for (const LayerParameter& one : layer_->parameters())
            count += static_cast<std::size_t>(one.count);
        weights_ = random_values(count, 3);
    }

    // In layers that are linear in each single value, a large step is exact except for rounding.
    void expect_gradients_to_be_differences(float step) {
        Values d_weights(weights_.size()), d_in(in_.size());
        std::vector<int> ready;
        layer_->backward({.weights = weights_,
                          .in = in_,
                          .d_out = by_,
                          .gradients = d_weights,
                          .d_in = d_in,
                          .rows = rows_},
                         [&](int parameter) { ready.push_back(parameter); });
        expect_differences(weights_, d_weights, step);
        expect_differences(in_, d_in, step);
        EXPECT_EQ(ready.size(), layer_->parameters().size());
    }

private:
    double loss() {
        Values out(by_.size());
        layer_->forward(weights_, in_, out, rows_);
        return local_dot(by_, out);
    }

    void expect_differences(Values& values, const Values& gradient, float step) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float kept = values[i];
            values[i] = kept + step;
            const double above = loss();
            values[i] = kept - step;
            const double below = loss();
            values[i] = kept;
            EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 2e-4) << i;
        }
    }

    std::unique_ptr<Layer> layer_;
    int rows_;
    Values in_;
    Values by_;
    Values weights_;
};

// Values a tenth apart and none near zero, in random order: no step of less passes a bend.
Values apart(std::size_t count, unsigned long long seed) {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = 0.1f * (static_cast<float>(i) - static_cast<float>(count / 2) + 0.5f);
    for (std::size_t left = count; left > 1; --left)
        std::swap(values[left - 1], values[next_random(seed) % left]);
    return values;
}

}  // namespace

TEST(MatrixProduct, IsTheSumInOrderBitForBitForEveryShapeAndStep) {
    for (const int rows : {1, 3, 4, 9})
        for (const int inner : {0, 1, 7, 300})
            for (const int columns : {1, 7, 8, 10, 16, 17, 40})
                for (const bool a_transposed : {false, true})
                    for (const bool b_transposed : {false, true}) {
                        const auto size = [](int n, int m) {
                            return static_cast<std::size_t>(n * m);
                        };
                        const Values a = random_values(size(rows, inner), 1);
                        const Values b = random_values(size(inner, columns), 2);
                        const MatrixView left = a_transposed ? matrix(a, inner, rows).transposed()
                                                             : matrix(a, rows, inner);
                        const MatrixView right = b_transposed
                                                     ? matrix(b, columns, inner).transposed()
                                                     : matrix(b, inner, columns);
                        Values c = random_values(size(rows, columns), 3);
                        Values portable = c, expected = c;
                        for (int i = 0; i < rows; ++i)
                            for (int j = 0; j < columns; ++j)
                                for (int k = 0; k < inner; ++k) {
                                    const volatile float product =
                                        left.data[i * left.row_step + k * left.column_step] *
                                        right.data[k * right.row_step + j * right.column_step];
                                    expected[size(i, columns) + static_cast<std::size_t>(j)] +=
                                        product;
                                }
                        add_product(left, right, c);
                        add_product_portable(left, right, portable.data());
                        ASSERT_EQ(c, expected) << rows << " " << inner << " " << columns;
                        ASSERT_EQ(portable, expected) << rows << " " << inner << " " << columns;
                    }
}

TEST(Linear, HasTheGradientsThatDifferencesShow) {
    UnderASum(linear({.channels = 7}, 5), random_values(21, 1), 3)
        .expect_gradients_to_be_differences(0.5f);
}

TEST(Convolution, HasTheGradientsThatDifferencesShow) {
    UnderASum(convolution({2, 5, 4}, 3), random_values(2 * 2 * 5 * 4, 1), 2)
        .expect_gradients_to_be_differences(0.5f);
}

TEST(Relu, HasTheGradientsThatDifferencesShow) {
    UnderASum(relu({.channels = 10}), apart(30, 1), 3).expect_gradients_to_be_differences(0.03f);
}

TEST(MaxPool, HasTheGradientsThatDifferencesShow) {
    UnderASum(max_pool({2, 4, 5}), apart(2 * 2 * 4 * 5, 1), 2)
        .expect_gradients_to_be_differences(0.03f);
}

// A filter that is 1 in its upper left corner alone moves the image down and right.
TEST(Convolution, MovesAnImageWhereItsFilterSays) {
    const auto layer = convolution({1, 3, 3}, 1);
    Values weights(10);
    weights[0] = 1;
    weights[9] = 0.5;
    Values out(9);
    layer->forward(weights, Values{1, 2, 3, 4, 5, 6, 7, 8, 9}, out, 1);
    EXPECT_EQ(out, (Values{0.5, 0.5, 0.5, 0.5, 1.5, 2.5, 0.5, 4.5, 5.5}));
}

TEST(SoftmaxCrossEntropy, HasTheValueAndGradientOfItsFormula) {
    const Values logits{1, 2, 0.5, 300, -300, 0};
    const std::vector<int> labels{2, 0};
    Values gradient(6);
    const double loss = softmax_cross_entropy(logits, labels, 8, gradient);
    const double sum = std::exp(1) + std::exp(2) + std::exp(0.5);
    EXPECT_NEAR(loss, (std::log(sum) - 0.5) / 8, 1e-7);  // the second row is sure, and right
    EXPECT_NEAR(gradient[0], std::exp(1) / sum / 8, 1e-7);
    EXPECT_NEAR(gradient[1], std::exp(2) / sum / 8, 1e-7);
    EXPECT_NEAR(gradient[2], (std::exp(0.5) / sum - 1) / 8, 1e-7);
    for (const int sure : {3, 4, 5}) EXPECT_NEAR(at(gradient, sure), 0, 1e-7);
    EXPECT_EQ(count_right(logits, labels), 1);
}

}  // namespace tutti
