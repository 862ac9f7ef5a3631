// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "workloads/bench/buffer_pool.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/models/buckets.hpp"

namespace tutti {

/// The tensors of a network in the order in which its backward says that they are ready.
std::vector<int> ready_order_of(Network& network);

/// Where gradients lie while ranks add them up: bucket by bucket (DistributedDataParallel's rule,
/// in ready order), in memory that other ranks can reach where possible. All ways use it in turn.
class GradientMemory {
public:
    /// Collective. Throws Error where memory does not suffice, or for caps that are no sizes.
    GradientMemory(World& world, Network& network, BucketCaps caps,
                   std::optional<BufferKind> buffers);

    World& world() const { return world_; }
    const std::vector<Bucket>& buckets() const { return buckets_; }
    std::span<const int> ready_order() const { return order_; }
    int bucket_of(int tensor) const { return places_[static_cast<std::size_t>(tensor)].bucket; }

    Call call_of(int bucket) const;
    PooledBuffers buffers_of(int bucket) const;
    /// The same for a number of each rank.
    Call call_of_numbers() const;
    PooledBuffers buffers_of_numbers() const;

    /// Where a tensor's gradient lies in its bucket.
    std::span<float> place_of(int tensor) const;

private:
    struct Place {
        int bucket = 0;
        std::size_t begin = 0;
        std::size_t count = 0;
    };
    PooledBuffers set(std::size_t stage, const Call& call) const;

    World& world_;
    std::vector<int> order_;
    std::vector<Bucket> buckets_;
    std::vector<Place> places_;       // by tensor
    std::vector<BufferPool> memory_;  // by bucket, that of the numbers last
};

}  // namespace tutti
