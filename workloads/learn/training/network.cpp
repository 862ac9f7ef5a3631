// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/name_table.hpp"
#include "workloads/learn/training/layer.hpp"
#include "workloads/learn/training/random.hpp"

namespace tutti {

Network::Network(std::vector<std::unique_ptr<Layer>> layers, unsigned seed)
    : layers_(std::move(layers)), results_(layers_.size()), d_results_(layers_.size()) {
    unsigned long long random = seed;
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
        first_tensor_.push_back(static_cast<int>(tensors_.size()));
        for (const LayerParameter& parameter : layers_[layer]->parameters()) {
            const auto count = as_size(parameter.count);
            tensors_.push_back(
                {fmt::format("{}.{}", layer, parameter.name), weights_.size(), count});
            const float most = 1 / std::sqrt(static_cast<float>(parameter.fan_in));
            for (std::size_t i = 0; i < count; ++i) weights_.push_back(most * next_uniform(random));
        }
    }
    first_tensor_.push_back(static_cast<int>(tensors_.size()));
    gradients_.resize(weights_.size());
}

std::span<float> Network::part(std::vector<float>& values, int tensor) const {
    const Tensor& of = at(tensors_, tensor);
    return std::span{values}.subspan(of.begin, of.count);
}

std::span<float> Network::part_of_layer(std::vector<float>& values, std::size_t layer) const {
    const auto border = [&](std::size_t i) {
        const auto tensor = as_size(first_tensor_[i]);
        return tensor < tensors_.size() ? tensors_[tensor].begin : values.size();
    };
    return std::span{values}.subspan(border(layer), border(layer + 1) - border(layer));
}

std::span<const float> Network::run_layers(const Batch& batch) {
    std::span<const float> in = batch.features;
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
        Layer& now = *layers_[layer];
        results_[layer].resize(as_size(batch.rows() * now.output().size()));
        now.forward(part_of_layer(weights_, layer), in, results_[layer], batch.rows());
        in = results_[layer];
    }
    return in;
}

double Network::forward(const Batch& batch, int whole_batch) {
    const auto logits = run_layers(batch);
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
        d_results_[layer].resize(results_[layer].size());
    return softmax_cross_entropy(logits, batch.labels, whole_batch, d_results_.back());
}

void Network::backward(const Batch& batch, const Ready& ready) {
    assert(results_.back().size() == as_size(batch.rows() * classes()));
    std::fill(gradients_.begin(), gradients_.end(), 0.0f);
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
        const bool first = layer == 0;
        layers_[layer]->backward(
            {.weights = part_of_layer(weights_, layer),
             .in = first ? std::span<const float>{batch.features} : results_[layer - 1],
             .d_out = d_results_[layer],
             .gradients = part_of_layer(gradients_, layer),
             .d_in = first ? std::span<float>{} : d_results_[layer - 1],
             .rows = batch.rows()},
            [&](int own) {
                if (ready) ready(first_tensor_[layer] + own);
            });
    }
}

int Network::count_right(const Batch& batch) {
    return tutti::count_right(run_layers(batch), batch.labels);
}

double Network::accuracy(const Dataset& data) {
    constexpr int at_once = 128;  // rows at once, so that the layers' memory stays small
    std::vector<int> rows(as_size(data.rows()));
    std::iota(rows.begin(), rows.end(), 0);
    Batch batch;
    int right = 0;
    for (int begin = 0; begin < data.rows(); begin += at_once) {
        const auto count = as_size(std::min(at_once, data.rows() - begin));
        batch.take(data, std::span{rows}.subspan(as_size(begin), count));
        right += count_right(batch);
    }
    return data.rows() == 0 ? 0 : static_cast<double>(right) / data.rows();
}

namespace {

using Layers = std::vector<std::unique_ptr<Layer>>;

Layers logistic(int columns, int classes) {
    Layers layers;
    layers.push_back(linear({.channels = columns}, classes));
    return layers;
}

Layers mlp(int columns, int classes) {
    constexpr int hidden = 256;
    Layers layers;
    layers.push_back(linear({.channels = columns}, hidden));
    layers.push_back(relu(layers.back()->output()));
    layers.push_back(linear(layers.back()->output(), hidden));
    layers.push_back(relu(layers.back()->output()));
    layers.push_back(linear(layers.back()->output(), classes));
    return layers;
}

Layers cnn(int columns, int classes) {
    const int side = static_cast<int>(std::lround(std::sqrt(columns)));
    if (side * side != columns || side < 4)
        throw Error(
            fmt::format("cnn needs square images of 4 x 4 pixels or more; the data has {} "
                        "columns; use mlp",
                        columns));
    Layers layers;
    layers.push_back(convolution({1, side, side}, 16));
    layers.push_back(relu(layers.back()->output()));
    layers.push_back(max_pool(layers.back()->output()));
    layers.push_back(convolution(layers.back()->output(), 32));
    layers.push_back(relu(layers.back()->output()));
    layers.push_back(max_pool(layers.back()->output()));
    layers.push_back(linear(layers.back()->output(), classes));
    return layers;
}

constexpr NetworkKind rows[] = {
    {"logistic", "softmax regression: one linear layer", 60, logistic},
    {"mlp", "linear layers with 256 and 256 units between, relu", 10, mlp},
    {"cnn", "3 x 3 convolutions to 16 and 32 channels, each with relu and pooling; linear", 10,
     cnn},
};

}  // namespace

std::span<const NetworkKind> all_networks() { return rows; }

const NetworkKind& find_network(std::string_view name) { return find_row(rows, "network", name); }

Network make_network(std::string_view name, int columns, int classes, unsigned seed) {
    return {find_network(name).layers(columns, classes), seed};
}

}  // namespace tutti
