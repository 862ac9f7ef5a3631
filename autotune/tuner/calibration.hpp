// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "autotune/tuner/tuner.hpp"

namespace tutti {

/// One measurement of a calibration.
struct ModelProbe {
    Configuration configuration;
    RoutedCall call;
};

/// Returns what to measure so that every parameter is determined: schedules with different mixes of
/// signals, messages, copies, sums and results written to peers, each at sizes on both sides of
/// every protocol switch. Ordered so that a call is next to its rivals.
std::vector<ModelProbe> calibration_plan(const Placement& hosts,
                                         std::span<const std::string> transports,
                                         std::span<const BufferKind> kinds);

/// A model, and the cost of its calibration.
struct Calibration {
    CostModel model;
    std::vector<Observation> observations;  ///< it was fitted to these
    std::int64_t samples = 0;
    double seconds = 0;
    double taken = 0;  ///< share of the cores' time that other programs used meanwhile
};

/// Measures the calibration plan of these ranks over these transports, a few calls each, and fits
/// the cost model to it; returns nothing if no transport can be used. Collective; the same on all
/// ranks. Takes about a millisecond for each of some 350 probes per transport.
std::optional<Calibration> calibrate_here(Planner& planner, const TuneRequest& request,
                                          const ModelledMachine& machine);

/// Returns the first rank's model on all ranks: processors of other hosts may round differently,
/// and all must agree. Collective.
std::optional<CostModel> model_of_first(World& world, const std::optional<CostModel>& mine);

/// Returns the model's predictions for calls on these ranks.
CallPredictor predictor_of_calls(const CostModel& model, const Placement& hosts);

/// Returns the predictor for sweeps; it makes no prediction for configurations with another order.
std::function<std::optional<double>(const Candidate&, const Call&, BufferKind)>
predictor_of_candidates(const CostModel& model, const Placement& hosts);

}  // namespace tutti
