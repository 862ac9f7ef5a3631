// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/model/cost_model.hpp"
#include "autotune/table/estimate.hpp"

namespace tutti {

/// What the model says of calls of any job shape, whose hosts are filled one after the other.
Predictor predictor_of_job_shapes(const CostModel& model);

}  // namespace tutti
