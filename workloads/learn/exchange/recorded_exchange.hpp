// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "workloads/learn/exchange/exchange.hpp"

namespace tutti {

/// What a step asked its exchange for.
struct Asked {
    enum class What : std::uint8_t { gradients, numbers };
    What what = What::gradients;
    std::vector<double> answer = {};  ///< numbers: everyone's
};

/// Notes what is asked of another one.
class RecordingExchange final : public Exchange {
public:
    RecordingExchange(Exchange& real, std::vector<Asked>& record) : real_(real), record_(record) {}

    void ready(Network& network, int tensor) override { real_.ready(network, tensor); }
    void finish(Network& network) override {
        record_.push_back({Asked::What::gradients});
        real_.finish(network);
    }
    std::vector<double> numbers(double mine) override {
        record_.push_back({Asked::What::numbers, real_.numbers(mine)});
        return record_.back().answer;
    }

private:
    Exchange& real_;
    std::vector<Asked>& record_;
};

/// Says the numbers that were said before, and leaves gradients as they are: so a step computes as
/// much as it did then, without any communication. From the first one on again after rewind().
class RepeatedExchange final : public Exchange {
public:
    explicit RepeatedExchange(const std::vector<Asked>& record) : record_(record) {}

    void ready(Network&, int) override {}
    void finish(Network&) override { ++next_; }
    std::vector<double> numbers(double) override { return record_.at(next_++).answer; }
    void rewind() { next_ = 0; }

private:
    const std::vector<Asked>& record_;
    std::size_t next_ = 0;
};

}  // namespace tutti
