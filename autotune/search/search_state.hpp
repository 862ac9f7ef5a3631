// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "autotune/search/evaluator.hpp"
#include "autotune/search/families.hpp"
#include "autotune/search/sample_log.hpp"
#include "autotune/search/search.hpp"

namespace tutti {

/// The cost model's predictions, corrected by what was measured, and how far they can be trusted.
/// Levels are logarithms of times in ns.
class Prior {
public:
    Prior(const Evaluator& evaluator, std::span<const Bytes> sizes)
        : evaluator_(evaluator), sizes_(sizes) {}

    /// Compares the model with all that raced at a size.
    void learn(const SampleLog& log, std::size_t size);

    /// The model's level, shifted as the sizes learnt beside it say.
    std::optional<double> level(int arm, std::size_t size) const;

    /// Standard deviation of measured against corrected levels; nothing before four arms were seen.
    std::optional<double> error() const;

    /// Whether `size` lies between two sizes learnt, so that nothing is extrapolated.
    bool is_between(std::size_t size) const;

private:
    const Evaluator& evaluator_;
    std::span<const Bytes> sizes_;
    std::map<std::size_t, double> shifts_;  // by size
    std::vector<double> errors_;
};

/// A search under way: its evaluator, its samples, and how it races. Sizes are called by index.
class SearchState {
public:
    SearchState(Evaluator& evaluator, std::span<const Bytes> sizes, const SearchOptions& options);

    bool is_over() const { return evaluator_.is_over(); }
    /// Members of a family that can run at a size, as far as that is known without a race.
    int runners(std::size_t family, std::size_t size) const;
    std::span<const Bytes> sizes() const { return sizes_; }
    const SearchOptions& options() const { return options_; }
    const Families& families() const { return families_; }
    const SampleLog& log() const { return log_; }
    Prior& prior() { return prior_; }
    const Prior& prior() const { return prior_; }

    /// Times each arm so often, alternating; the samples are in the log then.
    void race(std::size_t size, std::span<const int> arms, int repetitions);

    /// The rounds of the options: all arms, fewer from round to round.
    void race_in_rounds(std::size_t size, std::vector<int> arms);

    /// The fastest known member at a size, -1 if none has raced there.
    int best_of(std::size_t family, std::size_t size) const;

    /// A size needs no more first races.
    void settle(std::size_t size) { settled_[size] = true; }
    bool is_settled(std::size_t size) const { return settled_[size]; }
    /// Share of what follows the first pass that is done.
    void set_refined(double share) { refined_ = share; }

private:
    std::vector<int> survivors(std::size_t size, const std::vector<int>& arms,
                               double drop_beyond) const;
    double share() const;

    Evaluator& evaluator_;
    std::span<const Bytes> sizes_;
    const SearchOptions& options_;
    Families families_;
    SampleLog log_;
    Prior prior_;
    std::vector<bool> settled_;
    double refined_ = 0;
};

}  // namespace tutti
