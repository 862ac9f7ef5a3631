// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "results/step.hpp"
#include "workloads/program/program.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// What skew does to a way: steps with it and the same steps without, one right after the other.
class SkewSeen {
public:
    /// `even` and `uneven` are the programs without and with skew; they outlive it.
    SkewSeen(const Program& even, const Program& uneven) : even_(even), uneven_(uneven) {}

    void add(std::int64_t number, const StepTimes& even, const StepTimes& uneven);

    /// Medians: "unskewed_step_ms"; "step_over_unskewed"; "wait_added_ms", of a rank's waiting for
    /// others; "skew_ms", by which the computing of the slowest rank grows; and "sensitivity": the
    /// growth of the step by that: 0 hides skew, 1 passes on the slowest rank's, more adds to it.
    std::vector<Metric> metrics() const;

private:
    const Program& even_;
    const Program& uneven_;
    std::vector<double> even_ms_, ratio_, wait_ms_, growth_ms_, skew_ms_;
};

}  // namespace tutti
