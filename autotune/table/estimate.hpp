// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "autotune/model/cost_model.hpp"
#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// A model's time of one call in ns; nothing for what it does not know. May be empty: no model.
using Predictor = std::function<std::optional<double>(const Configuration&, const Subject&,
                                                      const JobShape&, Bytes)>;

/// A model corrected by what was measured: its error at the measured size next to the asked one is
/// taken to be its error there too, so that estimates for sizes and ranks between agree with the
/// measured ones at the ends.
class Estimate {
public:
    /// Both must outlive it.
    Estimate(const Predictor& predict, const Section& seen) : predict_(predict), seen_(seen) {}

    /// ns; nothing where the model knows nothing.
    std::optional<double> operator()(const Configuration& choice, const JobShape& job_shape,
                                     Bytes size) const;

private:
    std::optional<double> model(const Configuration& choice, const JobShape& job_shape,
                                Bytes size) const;

    const Predictor& predict_;
    const Section& seen_;
};

/// A configuration, and whom to ask for its time.
struct Contender {
    Configuration choice;
    const Estimate* estimate = nullptr;
};

/// The first stays unless another is estimated to be faster, or if its own time is not known.
/// Returned as a range that begins at `from`, marked as interpolated, with the estimates as
/// evidence.
Range best_of(const Contender& first, const Contender& second, const JobShape& job_shape,
              Bytes from);

/// The model's predictions for any job shape, whose hosts are filled one after the other.
Predictor predictor_of_job_shapes(const CostModel& model);

}  // namespace tutti
#pragma GCC visibility pop
