// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "autotune/search/evaluator.hpp"

namespace tutti {

/// The cost of a search.
struct SearchCost {
    std::int64_t samples = 0;
    double seconds = 0;        ///< sum of the samples: the calls alone, without plans and warm-up
    std::int64_t set_ups = 0;  ///< arms times sizes that were touched: each needs a plan
};

/// Counts what is raced on another evaluator.
class CountingEvaluator : public Evaluator {
public:
    explicit CountingEvaluator(Evaluator& inner) : inner_(inner) {}

    SearchCost cost() const {
        SearchCost cost = cost_;
        cost.set_ups = static_cast<std::int64_t>(touched_.size());
        return cost;
    }

    std::span<const Arm> arms() const override { return inner_.arms(); }
    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override {
        std::vector<std::vector<double>> samples = inner_.race(size, arms, repetitions);
        for (std::size_t i = 0; i < samples.size(); ++i) {
            if (!samples[i].empty()) touched_.emplace(size, arms[i]);
            cost_.samples += static_cast<std::int64_t>(samples[i].size());
            for (const double ns : samples[i]) cost_.seconds += ns * 1e-9;
        }
        return samples;
    }
    bool takes_part(int arm, Bytes size) const override { return inner_.takes_part(arm, size); }
    std::optional<double> predicted_ns(int arm, Bytes size) const override {
        return inner_.predicted_ns(arm, size);
    }
    bool is_over() const override { return inner_.is_over(); }

private:
    Evaluator& inner_;
    SearchCost cost_;
    std::set<std::pair<Bytes, int>> touched_;
};

}  // namespace tutti
