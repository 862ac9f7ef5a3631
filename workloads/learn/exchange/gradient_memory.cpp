// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/exchange/gradient_memory.hpp"

namespace tutti {

// Layers say it whatever the batch, also of one without rows.
std::vector<int> ready_order_of(Network& network) {
    const Batch empty;
    std::vector<int> order;
    network.forward(empty, 1);
    network.backward(empty, [&](int tensor) { order.push_back(tensor); });
    return order;
}

GradientMemory::GradientMemory(World& world, Network& network, BucketCaps caps,
                               std::optional<BufferKind> buffers)
    : world_(world), order_(ready_order_of(network)), places_(network.tensors().size()) {
    std::vector<std::int64_t> counts;
    for (const auto& tensor : network.tensors())
        counts.push_back(static_cast<std::int64_t>(tensor.count));
    buckets_ = buckets_of(counts, order_, Bytes{sizeof(float)}, caps);
    std::vector<BufferKind> kinds;
    if (buffers) kinds.push_back(*buffers);
    const auto add_memory = [&](const Call& call) {
        memory_.emplace_back(world, BufferPool::bytes_for(call, world.size(), true), kinds);
    };
    memory_.reserve(buckets_.size() + 1);
    for (int bucket = 0; bucket < static_cast<int>(buckets_.size()); ++bucket) {
        std::size_t begin = 0;
        for (const int tensor : buckets_[static_cast<std::size_t>(bucket)].parameters) {
            Place& place = places_[static_cast<std::size_t>(tensor)];
            place = {bucket, begin, network.tensors()[static_cast<std::size_t>(tensor)].count};
            begin += place.count;
        }
        add_memory(call_of(bucket));
    }
    add_memory(call_of_numbers());
}

// Losses are divided by the whole batch's size, so the shares' gradients add up to its gradient.
Call GradientMemory::call_of(int bucket) const {
    return {.collective = Collective::all_reduce,
            .type = DataType::float32,
            .op = Op::sum,
            .count = buckets_[static_cast<std::size_t>(bucket)].count};
}

Call GradientMemory::call_of_numbers() const {
    return {.collective = Collective::all_reduce,
            .type = DataType::float64,
            .op = Op::sum,
            .count = world_.size()};
}

PooledBuffers GradientMemory::set(std::size_t stage, const Call& call) const {
    return memory_[stage].buffers_for(call, true, memory_[stage].kinds().front());
}

PooledBuffers GradientMemory::buffers_of(int bucket) const {
    return set(static_cast<std::size_t>(bucket), call_of(bucket));
}

PooledBuffers GradientMemory::buffers_of_numbers() const {
    return set(buckets_.size(), call_of_numbers());
}

std::span<float> GradientMemory::place_of(int tensor) const {
    const Place& place = places_[static_cast<std::size_t>(tensor)];
    auto* bucket = reinterpret_cast<float*>(buffers_of(place.bucket).call.output.data());
    return {bucket + place.begin, place.count};
}

}  // namespace tutti
