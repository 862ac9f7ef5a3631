// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

}  // namespace tutti
