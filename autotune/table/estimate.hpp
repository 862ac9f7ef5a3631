// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "autotune/model/cost_model.hpp"
#include "autotune/table/table.hpp"

namespace tutti {

/// A model's time of one call in ns; nothing for what it does not know. May be empty: no model.
using Predictor = std::function<std::optional<double>(const Configuration&, const Subject&,
                                                      const JobShape&, Bytes)>;

/// A model corrected by what was measured: its error at the measured size next to the asked one is
/// taken to be its error there too, so that what is told of sizes and ranks between agrees with the
/// measured ones at the ends.
class Estimate {
public:
    /// Both must outlive it.
    Estimate(const Predictor& predict, const Section& seen) : predict_(predict), seen_(seen) {}

    /// ns; nothing where the model knows nothing.
    std::optional<double> operator()(const Configuration& choice, const JobShape& setting,
                                     Bytes size) const;

private:
    std::optional<double> model(const Configuration& choice, const JobShape& setting,
                                Bytes size) const;

    const Predictor& predict_;
    const Section& seen_;
};

/// A configuration, and whom to ask for its time.
struct Contender {
    Configuration choice;
    const Estimate* estimate = nullptr;
};

/// The first stays unless another is estimated to be faster; where its own time is not
/// known it stays in any case. As a range that begins at `from`, marked as interpolated; the
/// estimates are its evidence.
Range best_of(const Contender& first, const Contender& second, const JobShape& setting, Bytes from);

/// What the model says of calls of any job shape, whose hosts are filled one after the other.
Predictor predictor_of_job_shapes(const CostModel& model);

}  // namespace tutti
