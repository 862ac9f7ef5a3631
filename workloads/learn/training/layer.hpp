// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tutti {

/// What one sample is between two layers: `channels` images of height x width, row after row.
struct Shape {
    int channels = 1;
    int height = 1;
    int width = 1;

    int size() const { return channels * height * width; }
    bool operator==(const Shape&) const = default;
};

/// A tensor that is learnt.
struct LayerParameter {
    std::string name;  // "weight" or "bias" within a layer
    int count = 0;
    int fan_in = 1;  // values that each result is a sum of: how large to begin
};

/// Called as soon as a gradient is complete, with the parameter's index in registration order.
using Ready = std::function<void(int)>;

/// One function of the network, sample by sample: `rows` samples, each of input() or output() one
/// after the other. It owns no weights: `weights` and `gradients` hold its parameters in the order
/// of parameters().
class Layer {
public:
    Layer(Shape input, Shape output) : input_(input), output_(output) {}
    virtual ~Layer() = default;

    Shape input() const { return input_; }
    Shape output() const { return output_; }

    /// In registration order, as PyTorch has it: weight, then bias.
    virtual std::vector<LayerParameter> parameters() const { return {}; }

    /// Every row of `out` depends on its own row of `in` alone, bit for bit.
    virtual void forward(std::span<const float> weights, std::span<const float> in,
                         std::span<float> out, int rows) = 0;

    struct Backward {
        std::span<const float> weights;
        std::span<const float> in;     // as forward had it
        std::span<const float> d_out;  // the loss's gradient by the results
        std::span<float> gradients;    // added to, row after row of the batch
        std::span<float> d_in;         // overwritten; empty where it is not needed
        int rows = 0;
    };

    /// Calls `ready` for each own parameter (counted from 0) when its gradient is complete, in
    /// PyTorch's order.
    virtual void backward(const Backward& pass, const Ready& ready) = 0;

private:
    Shape input_;
    Shape output_;
};

std::unique_ptr<Layer> linear(Shape input, int outputs);

/// 3 x 3 with zeros around, so that images keep their size.
std::unique_ptr<Layer> convolution(Shape input, int channels);

std::unique_ptr<Layer> relu(Shape input);

/// The greatest of each 2 x 2; an odd last row or column is left out.
std::unique_ptr<Layer> max_pool(Shape input);

}  // namespace tutti
