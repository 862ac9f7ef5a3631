// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "workloads/learn/training/network.hpp"

namespace tutti {
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
                        "columns. Try mlp.",
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
