// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "autotune/model/cost_model.hpp"
#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// A model's prediction for one call in ns; none if it has no answer. May be empty: no model.
using Predictor = std::function<std::optional<double>(const Configuration&, const Subject&,
                                                      const JobShape&, Bytes)>;

/// A model corrected by measurements: its relative error at the nearest measured size is assumed at
/// the given size as well. So estimates for sizes and ranks in between agree with the measured
/// times at the ends.
class Estimate {
public:
    /// Both arguments must outlive it.
    Estimate(const Predictor& predict, const Section& seen) : predict_(predict), seen_(seen) {}

    /// Returns ns; none if the model has no prediction.
    std::optional<double> operator()(const Configuration& choice, const JobShape& job_shape,
                                     Bytes size) const;

private:
    std::optional<double> model(const Configuration& choice, const JobShape& job_shape,
                                Bytes size) const;

    const Predictor& predict_;
    const Section& seen_;
};

/// A configuration, and the source of its time.
struct Contender {
    Configuration choice;
    const Estimate* estimate = nullptr;
};

/// Returns the first choice unless the other is estimated to be faster, or the first one's time is
/// not known. The result is a range that begins at `from`, marked as interpolated, with the
/// estimates as evidence.
Range best_of(const Contender& first, const Contender& second, const JobShape& job_shape,
              Bytes from);

/// Returns the model's predictions for any job shape, with hosts filled one after the other.
Predictor predictor_of_job_shapes(const CostModel& model);

}  // namespace tutti
#pragma GCC visibility pop
