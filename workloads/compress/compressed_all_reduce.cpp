// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/compressed_all_reduce.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {

void CompressedUnderWay::make_progress() {
    std::size_t ahead = SIZE_MAX;
    for (CompressedAllReduce* one : all_) {
        one->advance(ahead);
        ahead = std::min(ahead, one->begun_);
    }
    std::erase_if(all_,
                  [](const CompressedAllReduce* one) { return one->done_ == one->inner_.size(); });
}

CompressedAllReduce::CompressedAllReduce(CompressedEnvironment& environment, const Call& call,
                                         const PooledBuffers& buffers)
    : call_(call), environment_(environment), buffers_(buffers) {
    environment_.under_way.all_.reserve(++environment_.under_way.exist_);
}

CompressedAllReduce::~CompressedAllReduce() {
    std::erase(environment_.under_way.all_, this);
    --environment_.under_way.exist_;
}

CompressedAllReduce::Inner CompressedAllReduce::inner(const CompressedEnvironment::Part& part,
                                                      const Call& call, bool in_place) {
    const BufferKind kind =
        buffers_.registered != nullptr ? BufferKind::registered : BufferKind::unregistered;
    Inner inner;
    inner.pool = std::make_unique<BufferPool>(
        *part.world, BufferPool::bytes_for(call, ranks(), in_place), std::span(&kind, 1));
    inner.buffers = inner.pool->buffers_for(call, in_place, kind);
    inner.operation = part.method->operation(call, inner.buffers);
    return inner;
}

void CompressedAllReduce::set_collectives(std::vector<Operation*> inner, double sent_bytes) {
    inner_ = std::move(inner);
    sent_bytes_ = sent_bytes;
    begun_ = done_ = inner_.size();
}

std::span<const float> CompressedAllReduce::input() const {
    return {reinterpret_cast<const float*>(buffers_.call.input.data()), as_size(call_.count)};
}

std::span<float> CompressedAllReduce::output() const {
    return {reinterpret_cast<float*>(buffers_.call.output.data()), as_size(call_.count)};
}

void CompressedAllReduce::start() {
    const double others = ranks() - 1;
    tally().plain_bytes += 2 * others / ranks() * 4 * static_cast<double>(call_.count);
    tally().sent_bytes += sent_bytes_;
    const std::int64_t began = now_ns();
    encode();
    tally().ns += now_ns() - began;
    begun_ = done_ = 0;
    environment_.under_way.all_.push_back(this);
    begin();
}

void CompressedAllReduce::begin() {
    // Counted before the start: a call that blocks in it may read the count to see how far it has
    // come.
    Operation* next = inner_[begun_++];
    next->start();
}

// Progresses as far as possible; starts its next collective only if the call ahead has started as
// many.
void CompressedAllReduce::advance(std::size_t most_begun) {
    while (done_ < inner_.size()) {
        if (begun_ == done_) {
            if (begun_ >= most_begun) return;
            begin();
        }
        if (!inner_[done_]->test()) return;
        const std::int64_t began = now_ns();
        after_collective(done_);
        tally().ns += now_ns() - began;
        ++done_;
    }
}

bool CompressedAllReduce::test() {
    if (done_ < inner_.size()) environment_.under_way.make_progress();
    return done_ == inner_.size();
}

void CompressedAllReduce::wait() {
    if (!ends_in_time(*environment_.first.world, *this)) throw Error(hang_report(), Exit::time_out);
}

std::string CompressedAllReduce::hang_report() const {
    const std::size_t index = std::min(done_, inner_.size() - 1);
    return inner_[index]->hang_report() + ", of a compressed all-reduce";
}

}  // namespace tutti
