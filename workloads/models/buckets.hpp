// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/models/model.hpp"

namespace tutti {

/// Gradients that are sent as one message.
struct Bucket {
    std::vector<int> parameters;  // in the order of the bucket
    std::int64_t count = 0;       // elements
};

/// Sizes at which a bucket is closed. The first is small, so that sending begins early.
struct BucketCaps {
    Bytes first{1 << 20};
    Bytes others{25 << 20};
};

/// Applies the rule of PyTorch's DistributedDataParallel. Tensors of these counts, taken in this
/// order (of indices), are appended to a bucket, which is closed once it has reached its cap. So a
/// bucket may exceed its cap by a tensor, and no tensor is cut. Throws Error unless element and
/// caps are positive.
std::vector<Bucket> buckets_of(std::span<const std::int64_t> counts, std::span<const int> order,
                               Bytes element, BucketCaps caps = {});

/// Returns the buckets that are sent in each step but the first: gradients in the order in which
/// they become ready. They are sent in this order on every rank.
std::vector<Bucket> buckets_of(const Model& model, Bytes element, BucketCaps caps = {});

}  // namespace tutti
