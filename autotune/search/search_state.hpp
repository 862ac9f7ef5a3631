// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "autotune/search/evaluator.hpp"
#include "autotune/search/sample_log.hpp"
#include "autotune/search/search.hpp"
#include "base/index.hpp"

namespace tutti {

/// The arms by family, and neighbours on the scales of their parameters.
class Families {
public:
    explicit Families(std::span<const Arm> arms);

    std::size_t count() const { return members_.size(); }
    std::size_t of(int arm) const { return at(family_of_, arm); }
    std::span<const int> members(std::size_t family) const { return members_[family]; }
    bool has_parameters(std::size_t family) const { return members_[family].size() > 1; }

    /// Returns the member in the middle of all scales.
    int middle(std::size_t family) const;
    /// Returns the member halfway between two.
    int between(int one, int other) const;

    /// Returns the members that differ from `arm` in one parameter only, in the order of its scale,
    /// including `arm`.
    std::vector<int> scale_through(int arm, std::size_t parameter) const;

private:
    using Level = std::array<double, knobs.size()>;
    int nearest(std::size_t family, const Level& level) const;

    std::vector<Arm> arms_;
    std::vector<std::size_t> family_of_;
    std::vector<std::vector<int>> members_;
};

/// The cost model's predictions, corrected by measurements, and their reliability. Levels are
/// logarithms of times in ns.
class Prior {
public:
    Prior(const Evaluator& evaluator, std::span<const Bytes> sizes)
        : evaluator_(evaluator), sizes_(sizes) {}

    /// Compares the model with all arms that raced at a size.
    void learn(const SampleLog& log, std::size_t size);

    /// Returns the model's level, shifted by the error seen at neighbouring sizes.
    std::optional<double> level(int arm, std::size_t size) const;

    /// Returns the standard deviation of measured against corrected levels; none before four arms
    /// were seen.
    std::optional<double> error() const;

    /// Returns whether `size` is between two measured sizes, so that nothing is extrapolated.
    bool is_between(std::size_t size) const;

private:
    const Evaluator& evaluator_;
    std::span<const Bytes> sizes_;
    std::map<std::size_t, double> shifts_;  // by size
    std::vector<double> errors_;
};

/// State of a search: its evaluator, its samples, and how it races. Sizes are given by index.
class SearchState {
public:
    SearchState(Evaluator& evaluator, std::span<const Bytes> sizes, const SearchOptions& options);

    bool is_over() const { return evaluator_.is_over(); }
    /// Returns the members of a family that can run at a size, as far as that is known without a
    /// race.
    int runners(std::size_t family, std::size_t size) const;
    std::span<const Bytes> sizes() const { return sizes_; }
    const SearchOptions& options() const { return options_; }
    const Families& families() const { return families_; }
    const SampleLog& log() const { return log_; }
    Prior& prior() { return prior_; }
    const Prior& prior() const { return prior_; }

    /// Returns the model's error while it is small enough to drop arms; else none.
    std::optional<double> trusted_error() const;
    /// Returns whether the model puts an arm that far above a measured one of its family that a
    /// race would be wasted.
    bool model_puts_above(int arm, int measured, std::size_t size) const;

    /// Times each arm `repetitions` times, alternating, and adds the samples to the log.
    void race(std::size_t size, std::span<const int> arms, int repetitions);

    /// Returns the fastest known member at a size; -1 if none has raced there.
    int best_of(std::size_t family, std::size_t size) const;

    /// Marks a size that needs no more first races.
    void settle(std::size_t size) { settled_[size] = true; }
    bool is_settled(std::size_t size) const { return settled_[size]; }
    /// Reports the finished share of the work after the first pass.
    void set_refined(double share) { refined_ = share; }

private:
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
