// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace tutti {

/// The loss -log softmax(logits)[label], summed over the rows and divided by `whole_batch`, with
/// its gradient by the logits. Shares of a batch that are given the whole batch's size so add up
/// to its loss and gradient.
double softmax_cross_entropy(std::span<const float> logits, std::span<const int> labels,
                             int whole_batch, std::span<float> d_logits);

/// How many rows have their greatest logit where the label is.
int count_right(std::span<const float> logits, std::span<const int> labels);

}  // namespace tutti
