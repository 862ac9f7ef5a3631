// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "workloads/learn/training/network.hpp"

namespace tutti {

/// How ranks bring together what each has learnt from its share of a batch. All ranks ask for the
/// same things in the same order.
class Exchange {
public:
    virtual ~Exchange() = default;

    /// Within Network::backward: nothing more is written to this tensor's gradient.
    virtual void ready(Network& network, int tensor) = 0;
    /// After it, and after ready() for every tensor: the network's gradients are all ranks' sums.
    virtual void finish(Network& network) = 0;

    /// Every rank's number, in rank order: the same bits on every rank, so that ranks which decide
    /// by their sum decide alike.
    virtual std::vector<double> numbers(double mine) = 0;
    double sum(double mine) {
        double all = 0;
        for (const double one : numbers(mine)) all += one;
        return all;
    }
};

/// A rank that is alone.
class NoExchange final : public Exchange {
public:
    void ready(Network&, int) override {}
    void finish(Network&) override {}
    std::vector<double> numbers(double mine) override { return {mine}; }
};

}  // namespace tutti
