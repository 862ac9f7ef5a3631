// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/exchange/gradient_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "collectives/world/backoff.hpp"
#include "workloads/bench/trials.hpp"

namespace tutti {

std::unique_ptr<GradientExchange> GradientExchange::make(GradientMemory& memory, GroupMethod& way,
                                                         std::string& reason) {
    std::string mine;
    if (!way.is_for(Collective::all_reduce)) mine = "it is no algorithm for all_reduce";
    const auto ask = [&](const Call& call, const PooledBuffers& buffers) {
        const auto refused = way.refuses(call, buffers);
        if (refused && mine.empty()) mine = *refused;
    };
    for (int bucket = 0; bucket < static_cast<int>(memory.buckets().size()); ++bucket)
        ask(memory.call_of(bucket), memory.buffers_of(bucket));
    ask(memory.call_of_numbers(), memory.buffers_of_numbers());
    for (const std::string& of_rank : gather_all_texts(memory.world(), mine))
        if (reason = of_rank; !reason.empty()) return nullptr;
    return std::unique_ptr<GradientExchange>(new GradientExchange(memory, way));
}

GradientExchange::GradientExchange(GradientMemory& memory, GroupMethod& way)
    : memory_(memory), missing_(memory.buckets().size()), tally_(way.tally()) {
    for (std::size_t i = 0; i < memory.buckets().size(); ++i) {
        const int bucket = static_cast<int>(i);
        const Call call = memory.call_of(bucket);
        operations_.push_back(way.operation(call, memory.buffers_of(bucket)));
        missing_[i] = memory.buckets()[i].parameters.size();
        const auto same = way.same_bits(call);
        if (same_bits_.value_or(false)) same_bits_ = same;
    }
    of_numbers_ = way.operation(memory.call_of_numbers(), memory.buffers_of_numbers());
    under_way_.reserve(operations_.size());
    call_spans_.reserve(operations_.size());
}

void GradientExchange::ready(Network& network, int tensor) {
    std::ranges::copy(network.gradient_of(tensor), memory_.place_of(tensor).begin());
    --missing_[static_cast<std::size_t>(memory_.bucket_of(tensor))];
    begin_complete_ones();
    make_progress();
}

void GradientExchange::begin_complete_ones() {
    for (; next_ < missing_.size() && missing_[next_] == 0; ++next_) {
        under_way_.push_back({static_cast<int>(next_), call_spans_.size()});
        call_spans_.push_back({.start_ns = now_ns()});
        operations_[next_]->start();
        still_ns_ += now_ns() - call_spans_.back().start_ns;
        make_progress();
    }
}

bool GradientExchange::make_progress() {
    const auto is_over = [&](const UnderWay& one) {
        if (!operations_[static_cast<std::size_t>(one.bucket)]->test()) return false;
        call_spans_[one.span].end_ns = now_ns();
        return true;
    };
    return std::erase_if(under_way_, is_over) > 0;
}

void GradientExchange::wait_for_all() {
    Backoff patience(memory_.world());
    while (!under_way_.empty()) {
        if (make_progress()) {
            patience.renew();
        } else if (!patience.pause()) {
            const int bucket = under_way_.front().bucket;
            throw Error(fmt::format("{}: bucket {} of {}",
                                    operations_[static_cast<std::size_t>(bucket)]->hang_report(),
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
    still_ns_ += now_ns() - began;
}

void GradientExchange::exchange_buckets() {
    std::ranges::fill(missing_, 0);
    begin_complete_ones();
    wait_for_all();
}

std::vector<double> GradientExchange::numbers(double mine) {
    const auto bytes = memory_.buffers_of_numbers().call.output;
    const std::span all(reinterpret_cast<double*>(bytes.data()),
                        static_cast<std::size_t>(memory_.world().size()));
    std::ranges::fill(all, 0.0);
    all[static_cast<std::size_t>(memory_.world().rank().index)] = mine;
    call_spans_.push_back({.start_ns = now_ns()});
    of_numbers_->run();
    call_spans_.back().end_ns = now_ns();
    still_ns_ += call_spans_.back().end_ns - call_spans_.back().start_ns;
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
        world.barrier();  // nobody spoils what another still reads
    };
    for (std::size_t i = 0; i < operations_.size(); ++i)
        check(*operations_[i], memory_.call_of(static_cast<int>(i)),
              memory_.buffers_of(static_cast<int>(i)));
    check(*of_numbers_, memory_.call_of_numbers(), memory_.buffers_of_numbers());
    return wrong;
}

}  // namespace tutti
