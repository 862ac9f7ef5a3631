// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tutti {

/// The form of one sample between two layers: `channels` images of height x width, row after row.
struct Shape {
    int channels = 1;
    int height = 1;
    int width = 1;

    int size() const { return channels * height * width; }
    bool operator==(const Shape&) const = default;
};

/// A tensor of weights.
struct LayerParameter {
    std::string name;  // "weight" or "bias" within a layer
    int count = 0;
    int fan_in = 1;  // number of inputs of each result, which sets the initial range
};

/// Called as soon as a gradient is complete, with the parameter's index in registration order.
using Ready = std::function<void(int)>;

/// One function of the network, applied to `rows` samples of size input() or output() in sequence.
/// It owns no weights: `weights` and `gradients` hold its parameters in the order of parameters().
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
        std::span<const float> in;     // the input of forward
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

/// The loss -log softmax(logits)[label], summed over the rows and divided by `whole_batch`, with
/// its gradient by the logits. Shares of a batch that are given the whole batch's size so add up
/// to its loss and gradient.
double softmax_cross_entropy(std::span<const float> logits, std::span<const int> labels,
                             int whole_batch, std::span<float> d_logits);

/// Counts the rows whose greatest logit is at the label.
int count_right(std::span<const float> logits, std::span<const int> labels);

}  // namespace tutti
