// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/index.hpp"
#include "workloads/learn/training/layer.hpp"
#include "workloads/learn/training/matrix_product.hpp"

namespace tutti {
namespace {

// out = in W^T + bias; W has a row for each output, as in PyTorch.
class Linear : public Layer {
public:
    Linear(Shape input, int outputs)
        : Layer(input, {.channels = outputs}), inputs_(input.size()), outputs_(outputs) {}

    std::vector<LayerParameter> parameters() const override {
        return {{"weight", inputs_ * outputs_, inputs_}, {"bias", outputs_, inputs_}};
    }

    void forward(std::span<const float> weights, std::span<const float> in, std::span<float> out,
                 int rows) override {
        const auto bias = weights.subspan(weight_count());
        for (int row = 0; row < rows; ++row)
            std::copy(bias.begin(), bias.end(), out.begin() + row * outputs_);
        add_product(matrix(in, rows, inputs_), weight(weights).transposed(), out);
    }

    // The bias is ready before the weight: in PyTorch the weight's gradient is transposed first.
    void backward(const Backward& pass, const Ready& ready) override {
        const auto bias = pass.gradients.subspan(weight_count());
        for (int row = 0; row < pass.rows; ++row)
            for (int i = 0; i < outputs_; ++i) at(bias, i) += at(pass.d_out, row * outputs_ + i);
        ready(1);
        const MatrixView d_out = matrix(pass.d_out, pass.rows, outputs_);
        add_product(d_out.transposed(), matrix(pass.in, pass.rows, inputs_), pass.gradients);
        ready(0);
        std::fill(pass.d_in.begin(), pass.d_in.end(), 0.0f);
        if (!pass.d_in.empty()) add_product(d_out, weight(pass.weights), pass.d_in);
    }

private:
    std::size_t weight_count() const { return as_size(inputs_ * outputs_); }
    MatrixView weight(std::span<const float> weights) const {
        return matrix(weights, outputs_, inputs_);
    }

    int inputs_;
    int outputs_;
};

}  // namespace

std::unique_ptr<Layer> linear(Shape input, int outputs) {
    return std::make_unique<Linear>(input, outputs);
}

}  // namespace tutti
