// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "autotune/search/evaluator.hpp"
#include "autotune/search/sample_log.hpp"

namespace tutti {

/// What the cost model says, corrected by what was measured, and how far that can be believed.
/// Levels are logarithms of times in ns.
class Prior {
public:
    Prior(const Evaluator& evaluator, std::span<const Bytes> sizes)
        : track_(evaluator), sizes_(sizes) {}

    /// Compares the model with all that raced at a size.
    void learn(const SampleLog& book, std::size_t size);

    /// The model's level, shifted as the sizes learnt beside it say.
    std::optional<double> level(int arm, std::size_t size) const;

    /// Standard deviation of measured against corrected levels; nothing before four arms were seen.
    std::optional<double> error() const;

    /// Whether `size` lies between two sizes learnt, so that nothing is extrapolated.
    bool is_between(std::size_t size) const;

private:
    const Evaluator& track_;
    std::span<const Bytes> sizes_;
    std::map<std::size_t, double> shifts_;  // by size
    std::vector<double> errors_;
};

}  // namespace tutti
