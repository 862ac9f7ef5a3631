// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "autotune/table/table.hpp"
#include "autotune/tuner/tuner.hpp"

namespace tutti {

/// Predicts a section for each subject of the request on other numbers of ranks: at each size the
/// fastest by the model, adjacent sizes merged within the hysteresis of the search. Subjects
/// without a model are omitted.
std::vector<Section> predicted_sections(const CostModel& model, const TuneRequest& request,
                                        const JobShape& job_shape);

/// Reads the model of --table, or the one stored for this machine.
CostModel model_to_predict_by(const std::string& table_file);

/// Why the model has no prediction, and the cure.
struct MissingPrediction {
    std::string why, instead;
};
/// Returns why the model has no prediction for this job.
MissingPrediction missing_prediction(const CostModel& model, const JobShape& shape);

/// Returns a job on as many hosts like the model's as the ranks need.
JobShape shape_like_model(const CostModel& model, int ranks, int ranks_per_host);

/// Replaces all transports by those that the model covers.
SearchSpace search_space_of(const CostModel& model, SearchSpace search_space);

/// Merges the table with the file; measured sections are kept.
Table with_measured(Table predicted, const std::string& file);

}  // namespace tutti
