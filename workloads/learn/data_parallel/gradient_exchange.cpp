// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/data_parallel/gradient_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "collectives/world/backoff.hpp"
#include "workloads/bench/candidates.hpp"

namespace tutti {

namespace {

// Returns the tensors in the order in which backward completes their gradients, which does not
// depend on the batch.
std::vector<int> ready_order_of(Network& network) {
    const Batch empty;
    std::vector<int> order;
    network.forward(empty, 1);
    network.backward(empty, [&](int tensor) { order.push_back(tensor); });
    return order;
}

}  // namespace

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
        for (const int tensor : at(buckets_, bucket).parameters) {
            Place& place = at(places_, tensor);
            place = {bucket, begin, at(network.tensors(), tensor).count};
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
            .count = at(buckets_, bucket).count};
}

Call GradientMemory::call_of_numbers() const {
    return {.collective = Collective::all_reduce,
            .type = DataType::float64,
            .op = Op::sum,
            .count = world_.size()};
}

PooledBuffers GradientMemory::set(int pool, const Call& call) const {
    const BufferPool& memory = at(memory_, pool);
    return memory.buffers_for(call, true, memory.kinds().front());
}

PooledBuffers GradientMemory::buffers_of(int bucket) const { return set(bucket, call_of(bucket)); }

PooledBuffers GradientMemory::buffers_of_numbers() const {
    return set(int_size(buckets_), call_of_numbers());
}

std::span<float> GradientMemory::place_of(int tensor) const {
    const Place& place = at(places_, tensor);
    auto* bucket = reinterpret_cast<float*>(buffers_of(place.bucket).call.output.data());
    return {bucket + place.begin, place.count};
}

MadeOrRefused<GradientExchange> GradientExchange::make(GradientMemory& memory,
                                                       GroupMethod& method) {
    std::optional<std::string> refused;
    if (!method.is_for(Collective::all_reduce)) refused = "it is not an algorithm for all_reduce";
    const auto ask = [&](const Call& call, const PooledBuffers& buffers) {
        const auto mine = method.refuses(call, buffers);
        if (!refused) refused = mine;
    };
    for (int bucket = 0; bucket < int_size(memory.buckets()); ++bucket)
        ask(memory.call_of(bucket), memory.buffers_of(bucket));
    ask(memory.call_of_numbers(), memory.buffers_of_numbers());
    if (auto refusal = first_refusal(memory.world(), refused))
        return {nullptr, std::move(*refusal)};
    return {std::unique_ptr<GradientExchange>(new GradientExchange(memory, method))};
}

GradientExchange::GradientExchange(GradientMemory& memory, GroupMethod& method)
    : memory_(memory), missing_(memory.buckets().size()), tally_(method.tally()) {
    for (std::size_t i = 0; i < memory.buckets().size(); ++i) {
        const int bucket = static_cast<int>(i);
        const Call call = memory.call_of(bucket);
        operations_.push_back(method.operation(call, memory.buffers_of(bucket)));
        missing_[i] = memory.buckets()[i].parameters.size();
        const auto same = method.same_bits(call);
        if (same_bits_.value_or(false)) same_bits_ = same;
    }
    of_numbers_ = method.operation(memory.call_of_numbers(), memory.buffers_of_numbers());
    under_way_.reserve(operations_.size());
    call_spans_.reserve(operations_.size());
}

void GradientExchange::ready(Network& network, int tensor) {
    std::ranges::copy(network.gradient_of(tensor), memory_.place_of(tensor).begin());
    --at(missing_, memory_.bucket_of(tensor));
    begin_complete_ones();
    make_progress();
}

void GradientExchange::begin_complete_ones() {
    for (; next_ < missing_.size() && missing_[next_] == 0; ++next_) {
        under_way_.push_back({static_cast<int>(next_), call_spans_.size()});
        call_spans_.push_back({.start_ns = now_ns()});
        operations_[next_]->start();
        blocked_ns_ += now_ns() - call_spans_.back().start_ns;
        make_progress();
    }
}

bool GradientExchange::make_progress() {
    const auto is_over = [&](const UnderWay& one) {
        if (!at(operations_, one.bucket)->test()) return false;
        call_spans_[one.span].end_ns = now_ns();
        return true;
    };
    return std::erase_if(under_way_, is_over) > 0;
}

void GradientExchange::wait_for_all() {
    Backoff backoff(memory_.world());
    while (!under_way_.empty()) {
        if (make_progress()) {
            backoff.renew();
        } else if (!backoff.pause()) {
            const int bucket = under_way_.front().bucket;
            throw Error(fmt::format("{}: bucket {} of {}", at(operations_, bucket)->hang_report(),
                                    bucket, operations_.size()),
                        Exit::time_out);
        }
    }
    next_ = 0;
    for (std::size_t i = 0; i < missing_.size(); ++i)
        missing_[i] = memory_.buckets()[i].parameters.size();
}

void GradientExchange::finish(Network& network) {
    const std::int64_t began = now_ns();
    wait_for_all();
    for (const int tensor : memory_.ready_order())
        std::ranges::copy(memory_.place_of(tensor), network.gradient_of(tensor).begin());
    blocked_ns_ += now_ns() - began;
}

void GradientExchange::exchange_buckets() {
    std::ranges::fill(missing_, 0);
    begin_complete_ones();
    wait_for_all();
}

std::vector<double> GradientExchange::numbers(double mine) {
    const auto bytes = memory_.buffers_of_numbers().call.output;
    const std::span all(reinterpret_cast<double*>(bytes.data()), as_size(memory_.world().size()));
    std::ranges::fill(all, 0.0);
    at(all, memory_.world().rank().index) = mine;
    call_spans_.push_back({.start_ns = now_ns()});
    of_numbers_->run();
    call_spans_.back().end_ns = now_ns();
    blocked_ns_ += call_spans_.back().end_ns - call_spans_.back().start_ns;
    return {all.begin(), all.end()};
}

std::int64_t GradientExchange::count_wrong(std::uint64_t seed) {
    World& world = memory_.world();
    std::int64_t wrong = 0;
    const auto check = [&](Operation& operation, const Call& call, const PooledBuffers& buffers) {
        const Trial trial = trial_of(operation, world, call, buffers, true);
        trial.prepare(seed);
        world.barrier();
        operation.run();
        wrong += trial.count_wrong(seed);
        world.barrier();  // no rank overwrites what another still reads
    };
    for (std::size_t i = 0; i < operations_.size(); ++i)
        check(*operations_[i], memory_.call_of(static_cast<int>(i)),
              memory_.buffers_of(static_cast<int>(i)));
    check(*of_numbers_, memory_.call_of_numbers(), memory_.buffers_of_numbers());
    return wrong;
}

}  // namespace tutti
