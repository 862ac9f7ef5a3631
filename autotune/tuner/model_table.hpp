// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/model/cost_model.hpp"
#include "autotune/tuner/tuner.hpp"

namespace tutti {

/// A section for each subject of the request on ranks that need not be at hand: at each size what
/// the model puts first, neighbours merged where that costs less than the hysteresis of the search.
/// Subjects that the model knows nothing of are left out.
std::vector<Section> predicted_sections(const CostModel& model, const TuneRequest& request,
                                        const JobShape& job_shape);

}  // namespace tutti
