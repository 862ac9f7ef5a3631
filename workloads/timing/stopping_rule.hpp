// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tutti {

/// Decides when a series of timed calls ends. It uses no clock and no ranks: the caller adds
/// samples and the time they took, so all ranks with the same numbers stop at the same sample.
class StoppingRule {
public:
    struct Settings {
        double target_ci = 0.025;  ///< half-width of the median's 95 % interval, see half_width
        double max_seconds = 0.2;
        std::int64_t min_samples = 20;  ///< before target_ci may end the series
        std::int64_t max_samples = 10'000;
        std::int64_t fixed_samples = 0;  ///< exact number of samples; 0: by the rules above
        /// Samples out of the maximum or fixed number that are taken after the rule has finished.
        std::int64_t reserved = 0;
    };

    StoppingRule() = default;
    explicit StoppingRule(const Settings& settings) : settings_(settings) {}

    /// Adds a batch: its samples in ns, the number of discarded calls, and the seconds that it took
    /// in total. Samples or discarded calls may be empty.
    void add(std::span<const std::int64_t> samples, std::int64_t invalid = 0, double seconds = 0);

    /// Once true, stays true; samples may still be added.
    bool finished() const { return !reason_.empty(); }
    /// Returns "fixed_n", "target_ci", "max_n" or "max_time" (also after too many invalid calls);
    /// empty before it has finished.
    std::string_view reason() const { return reason_; }

    /// Returns the samples until the maximum or the fixed number, at least one. Includes the
    /// reserved ones only once the rule has finished.
    std::int64_t wanted() const;
    /// Returns whether there are as many samples as were fixed, including the reserved ones, or too
    /// many calls were invalid to continue. True if no number is fixed.
    bool is_complete() const;

    const std::vector<std::int64_t>& samples() const { return samples_; }
    /// Returns the number of calls so far, including invalid ones.
    std::int64_t attempts() const { return taken() + invalid_; }
    std::int64_t invalid() const { return invalid_; }

private:
    std::int64_t taken() const { return static_cast<std::int64_t>(samples_.size()); }
    std::int64_t goal() const;
    std::string_view reason_now();
    bool has_too_many_invalid() const;

    Settings settings_;
    std::vector<std::int64_t> samples_;
    std::int64_t invalid_ = 0;
    std::int64_t next_interval_at_ = 0;  // number of samples at which the interval is computed next
    double seconds_ = 0;
    std::string_view reason_;
};

}  // namespace tutti
