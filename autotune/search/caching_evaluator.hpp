// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "autotune/search/evaluator.hpp"
#include "autotune/search/search.hpp"

namespace tutti {

/// Samples of one arm at one size, in the order of measuring.
struct CachedSamples {
    Bytes size;
    int arm = 0;
    std::vector<double> samples_ns;
};

/// Answers from cached samples where it has any, and asks the inner evaluator for the rest. A
/// search repeats its decisions for the same samples, so an interrupted search replays the cached
/// samples and continues from there.
class CachingEvaluator : public Evaluator {
public:
    /// Passes all new samples to `keep`, race by race.
    using Store = std::function<void(const CachedSamples&)>;

    /// There may be several pieces for one arm and size, in order.
    CachingEvaluator(Evaluator& inner, std::span<const CachedSamples> cached, Store keep);

    std::span<const Arm> arms() const override { return inner_.arms(); }
    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override;
    bool takes_part(int arm, Bytes size) const override { return inner_.takes_part(arm, size); }
    std::optional<double> predicted_ns(int arm, Bytes size) const override {
        return inner_.predicted_ns(arm, size);
    }
    /// Returns false until the inner evaluator was asked: cached samples count even when time is
    /// up.
    bool is_over() const override { return had_to_ask_ && inner_.is_over(); }

private:
    struct Memory {
        std::vector<double> samples_ns;
        std::size_t returned = 0;
    };

    void ask(Bytes size, std::span<const int> arms, int repetitions);

    Evaluator& inner_;
    Store store_;
    std::map<std::pair<Bytes, int>, Memory> memory_;
    bool had_to_ask_ = false;
};

/// All samples of a search under way, to know its result if it ended now.
class RacedSamples {
public:
    void add(const CachedSamples& race);

    /// Returns the best by plain medians at each size; no winner where nothing has raced.
    std::vector<Finding> findings(std::span<const Bytes> sizes) const;

private:
    std::map<Bytes, SamplesByArm> samples_;
};

}  // namespace tutti
