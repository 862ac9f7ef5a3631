// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "workloads/learn/training/network.hpp"

namespace tutti {

/// What a rank learns from: a network on its rows of the digits, batch after batch.
class DigitsLearner {
public:
    /// The rows are those of `train` that this rank may use; a step takes its share [n r / P,
    /// n (r + 1) / P) of each batch of them. Throws Error where the batch is not 1 to their number.
    struct Share {
        Rank rank = {0};
        int ranks = 1;
    };
    DigitsLearner(const std::string& network, Dataset train, int batch, Share share, unsigned seed);

    /// Weights and order of the batches as they were at first.
    void begin_anew();

    /// The gradients of this rank's share of the next batch, as its part of the batch's mean; then
    /// waits until that has taken `times` as long, as on a slower machine. `meanwhile` is called
    /// after each gradient and all the time while it waits; its time does not count. Returns ns.
    std::int64_t find_gradients(double times, const std::function<void()>& meanwhile);

    Network& network() { return network_; }
    const std::vector<float>& first_weights() const { return first_weights_; }
    int rows() const { return train_.rows(); }
    int batches_per_epoch() const { return order_->batches_per_epoch(); }

private:
    Dataset train_;
    int batch_;
    Share share_;
    unsigned seed_;
    std::unique_ptr<BatchOrder> order_;  // refuses a batch before there is a network
    Network network_;
    std::vector<float> first_weights_;
    Batch rows_;
};

}  // namespace tutti
