// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "autotune/tuner/tuner.hpp"

namespace tutti {

/// One thing to measure in order to calibrate.
struct ModelProbe {
    Configuration configuration;
    ModelCall call;
};

/// What to measure so that every parameter is seen: schedules that differ in what they are made of
/// (signals, messages, copies, sums, results written to peers), each at sizes on both sides of
/// every switch of protocol. Ordered so that a call stands beside its rivals.
std::vector<ModelProbe> calibration_plan(const Placement& hosts,
                                         std::span<const std::string> transports,
                                         std::span<const BufferKind> kinds);

/// A model, and what it took.
struct Calibration {
    CostModel model;
    std::vector<Observation> observations;  ///< that it is fitted to
    std::int64_t samples = 0;
    double seconds = 0;
    double taken = 0;  ///< share of the cores' time that others had meanwhile
};

/// Measures the calibration plan of these ranks over these transports, a few calls of each, and
/// fits the cost model to it; nothing where none of the transports can be used. Collective; the
/// same on all ranks. Takes about a millisecond for each of some 350 probes per transport.
std::optional<Calibration> calibrate_here(Planner& planner, const TuneRequest& request,
                                          const ModelledMachine& machine);

/// The first rank's, on all ranks: processors of other hosts may round otherwise, and all must
/// agree. Collective.
std::optional<CostModel> model_of_first(World& world, const std::optional<CostModel>& mine);

/// The model's predictions for calls on these ranks.
CallPredictor predictor_of_calls(const CostModel& model, const Placement& hosts);

/// The predictor for sweeps; no prediction for configurations with an order of their own.
std::function<std::optional<double>(const Candidate&, const Call&, BufferKind)>
predictor_of_candidates(const CostModel& model, const Placement& hosts);

}  // namespace tutti
