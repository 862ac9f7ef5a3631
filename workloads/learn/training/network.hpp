// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/learn/training/dataset.hpp"
#include "workloads/learn/training/layer.hpp"

namespace tutti {

/// A sequence of layers with a softmax cross-entropy loss, in float32 on one core.
///
/// All weights are one vector and all gradients another, tensor after tensor in registration order,
/// so that any range of them can be a message. With the same weights a sample has the same results
/// in any batch, bit for bit. Sums over samples go from the first to the last, so gradients of
/// shares add up to the whole batch's within rounding, and exactly if one share has all samples.
/// Bits may differ between machines whose libraries differ in exp and log.
class Network {
public:
    /// A tensor's place in weights() and gradients().
    struct Tensor {
        std::string name;  // "0.weight": the layer's name in PyTorch's Sequential
        std::size_t begin = 0;
        std::size_t count = 0;
    };

    /// Draws weights like PyTorch: uniform up to 1 / sqrt(fan in), by the seed only.
    Network(std::vector<std::unique_ptr<Layer>> layers, unsigned seed);

    std::span<const Tensor> tensors() const { return tensors_; }
    std::span<float> weights() { return weights_; }
    std::span<float> gradients() { return gradients_; }
    std::span<float> weights_of(int tensor) { return part(weights_, tensor); }
    std::span<float> gradient_of(int tensor) { return part(gradients_, tensor); }

    int inputs() const { return layers_.front()->input().size(); }
    int classes() const { return layers_.back()->output().size(); }

    /// Returns the loss of these rows as their part of a batch of `whole_batch`. Allocates only if
    /// it never had as many rows. A batch may be empty.
    double forward(const Batch& batch, int whole_batch);

    /// Computes the gradients of the last forward, whose batch must still exist, overwriting
    /// earlier ones. Calls `ready` once for each tensor when its gradient is complete.
    void backward(const Batch& batch, const Ready& ready = {});

    /// Returns how many rows are classified correctly. No backward may follow it.
    int count_right(const Batch& batch);

    /// Returns the share of rows that are classified correctly, from 0 to 1.
    double accuracy(const Dataset& data);

private:
    std::span<float> part(std::vector<float>& values, int tensor) const;
    std::span<float> part_of_layer(std::vector<float>& values, std::size_t layer) const;
    std::span<const float> run_layers(const Batch& batch);

    std::vector<std::unique_ptr<Layer>> layers_;
    std::vector<Tensor> tensors_;
    std::vector<int> first_tensor_;  // one for each layer, and one past the last
    std::vector<float> weights_;
    std::vector<float> gradients_;
    std::vector<std::vector<float>> results_;    // one vector for each layer
    std::vector<std::vector<float>> d_results_;  // gradients of the loss by them
};

/// A row of the table of networks.
struct NetworkKind {
    const char* name;
    const char* what;
    int epochs;  // enough to learn the digits with batches of 32
    std::vector<std::unique_ptr<Layer>> (*layers)(int columns, int classes);
};

std::span<const NetworkKind> all_networks();

/// Throws Error naming the known ones.
const NetworkKind& find_network(std::string_view name);

/// Throws Error if there is no such network, or it cannot take samples with this many columns.
Network make_network(std::string_view name, int columns, int classes, unsigned seed);

}  // namespace tutti
