// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "workloads/learn/training/layer.hpp"

namespace tutti {
namespace {

class Relu : public Layer {
public:
    explicit Relu(Shape shape) : Layer(shape, shape) {}

    void forward(std::span<const float>, std::span<const float> in, std::span<float> out,
                 int) override {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = std::max(in[i], 0.0f);
    }

    void backward(const Backward& pass, const Ready&) override {
        for (std::size_t i = 0; i < pass.d_in.size(); ++i)
            pass.d_in[i] = pass.in[i] > 0 ? pass.d_out[i] : 0.0f;
    }
};

}  // namespace

std::unique_ptr<Layer> relu(Shape input) { return std::make_unique<Relu>(input); }

double softmax_cross_entropy(std::span<const float> logits, std::span<const int> labels,
                             int whole_batch, std::span<float> d_logits) {
    if (labels.empty()) return 0;
    const std::size_t classes = logits.size() / labels.size();
    double loss = 0;
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const auto in = logits.subspan(row * classes, classes);
        const auto out = d_logits.subspan(row * classes, classes);
        const auto label = as_size(labels[row]);
        const float greatest = *std::max_element(in.begin(), in.end());  // exp must not overflow
        float sum = 0;
        for (std::size_t i = 0; i < classes; ++i) sum += out[i] = std::exp(in[i] - greatest);
        loss += std::log(sum) - (in[label] - greatest);
        const auto whole = static_cast<float>(whole_batch);
        for (float& probability : out) probability /= sum * whole;
        out[label] -= 1 / whole;
    }
    return loss / whole_batch;
}

int count_right(std::span<const float> logits, std::span<const int> labels) {
    if (labels.empty()) return 0;
    const std::size_t classes = logits.size() / labels.size();
    int right = 0;
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const auto in = logits.subspan(row * classes, classes);
        right += std::max_element(in.begin(), in.end()) - in.begin() == labels[row];
    }
    return right;
}

}  // namespace tutti
