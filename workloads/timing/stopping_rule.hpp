// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tutti {

/// Decides when a series of timed calls ends. A value without a clock and without ranks: the caller
/// adds samples and the time that they took, so all ranks with the same numbers stop at the same
/// sample.
class StoppingRule {
public:
    struct Settings {
        double target_ci = 0.025;  ///< half-width of the median's 95 % interval, see half_width
        double max_seconds = 0.2;
        std::int64_t min_samples = 20;  ///< before target_ci may end the series
        std::int64_t max_samples = 10'000;
        std::int64_t fixed_samples = 0;  ///< exactly so many instead; 0: by the rules above
        /// Of the maximum or the fixed number, the samples that are taken after it has finished.
        std::int64_t reserved = 0;
    };

    StoppingRule() = default;
    explicit StoppingRule(const Settings& settings) : settings_(settings) {}

    /// A batch: its samples in ns, the calls that were thrown away beside them, and the seconds
    /// that all of it took. Either may be none.
    void add(std::span<const std::int64_t> samples, std::int64_t invalid = 0, double seconds = 0);

    /// Once true it stays true; samples may still be added.
    bool finished() const { return !reason_.empty(); }
    /// "fixed_n", "target_ci", "max_n", "max_time" (also after too many invalid calls); empty
    /// before it has finished.
    std::string_view reason() const { return reason_; }

    /// Samples until the maximum or the fixed number, the reserved ones only once it has finished;
    /// at least one.
    std::int64_t wanted() const;
    /// Whether there are as many samples as were fixed, the reserved ones included, or too many
    /// calls were invalid to go on. True where no number is fixed.
    bool is_complete() const;

    const std::vector<std::int64_t>& samples() const { return samples_; }
    /// Calls so far: samples and invalid ones.
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
    std::int64_t next_interval_at_ = 0;  // samples at which the interval is looked at again
    double seconds_ = 0;
    std::string_view reason_;
};

}  // namespace tutti
