// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "collectives/world/world.hpp"
#include "workloads/learn/training/network.hpp"

namespace tutti {

/// How ranks combine what each has computed from its share of a batch. All ranks make the same
/// calls in the same order.
class Exchange {
public:
    virtual ~Exchange() = default;

    /// Called within Network::backward: this tensor's gradient is complete.
    virtual void ready(Network&, int /*tensor*/) {}
    /// Called after backward: makes the network's gradients the sums over all ranks.
    virtual void finish(Network& network) = 0;

    /// Returns every rank's number in rank order, with equal bits on every rank, so that ranks
    /// which decide by their sum agree.
    virtual std::vector<double> numbers(double mine) = 0;
    double sum(double mine) {
        double all = 0;
        for (const double one : numbers(mine)) all += one;
        return all;
    }
};

/// The exchange of a single rank.
class NoExchange final : public Exchange {
public:
    void finish(Network&) override {}
    std::vector<double> numbers(double mine) override { return {mine}; }
};

/// The sums over all ranks, added up in rank order on each. Collective, slow.
template <class Number>
void sum_in_rank_order(World& world, std::span<Number> values) {
    std::vector<Number> all(values.size() * as_size(world.size()));
    world.all_gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
    std::copy_n(all.begin(), values.size(), values.begin());
    for (std::size_t i = values.size(); i < all.size(); ++i) values[i % values.size()] += all[i];
}

/// By the world's own all-gather, outside of measured time.
class AllGatherExchange final : public Exchange {
public:
    explicit AllGatherExchange(World& world) : world_(world) {}

    void finish(Network& network) override { sum_in_rank_order(world_, network.gradients()); }
    std::vector<double> numbers(double mine) override { return gather_all(world_, mine); }

private:
    World& world_;
};

/// A call of finish() or numbers().
struct ExchangeCall {
    enum class Kind : std::uint8_t { gradients, numbers };
    Kind kind = Kind::gradients;
    std::vector<double> numbers = {};  ///< results of numbers()
};

/// Forwards to another exchange and records the calls.
class RecordingExchange final : public Exchange {
public:
    RecordingExchange(Exchange& real, std::vector<ExchangeCall>& record)
        : real_(real), record_(record) {}

    void ready(Network& network, int tensor) override { real_.ready(network, tensor); }
    void finish(Network& network) override {
        record_.push_back({ExchangeCall::Kind::gradients});
        real_.finish(network);
    }
    std::vector<double> numbers(double mine) override {
        record_.push_back({ExchangeCall::Kind::numbers, real_.numbers(mine)});
        return record_.back().numbers;
    }

private:
    Exchange& real_;
    std::vector<ExchangeCall>& record_;
};

/// Returns the recorded numbers and leaves gradients as they are: a step then computes as much as
/// when it was recorded, without communication. rewind() goes back to the first call.
class ReplayedExchange final : public Exchange {
public:
    explicit ReplayedExchange(const std::vector<ExchangeCall>& record) : record_(record) {}

    void finish(Network&) override { ++next_; }
    std::vector<double> numbers(double) override { return record_.at(next_++).numbers; }
    void rewind() { next_ = 0; }

private:
    const std::vector<ExchangeCall>& record_;
    std::size_t next_ = 0;
};

}  // namespace tutti
