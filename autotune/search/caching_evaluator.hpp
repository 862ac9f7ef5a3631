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

/// An evaluator that has raced before: answers from cached samples as far as they go, and asks the
/// inner evaluator for the rest. A search is the same for the same samples, so an interrupted one
/// walks through the cached samples to where it was, and goes on.
class CachingEvaluator : public Evaluator {
public:
    /// Hands all samples that are new to `keep`, race by race.
    using Store = std::function<void(const CachedSamples&)>;

    /// Several pieces for one arm and size follow each other.
    CachingEvaluator(Evaluator& inner, std::span<const CachedSamples> cached, Store keep);

    std::span<const Arm> arms() const override { return inner_.arms(); }
    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override;
    bool takes_part(int arm, Bytes size) const override { return inner_.takes_part(arm, size); }
    std::optional<double> predicted_ns(int arm, Bytes size) const override {
        return inner_.predicted_ns(arm, size);
    }
    /// Not before a question has gone to the inner evaluator: cached samples count even when time
    /// is up.
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

/// All samples of a search that is under way: what would be known if it ended now.
class RacedSamples {
public:
    void add(const CachedSamples& race);

    /// The best by plain medians at each size; no winner where nothing has raced.
    std::vector<Finding> findings(std::span<const Bytes> sizes) const;

private:
    std::map<Bytes, SamplesByArm> samples_;
};

}  // namespace tutti
