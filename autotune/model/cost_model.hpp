// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/subject.hpp"
#include "collectives/execute/layout.hpp"
#include "topology/placement.hpp"

namespace tutti {

/// A call as the model sees it.
struct ModelCall {
    Call call;
    BufferKind buffers = BufferKind::registered;
    Placement hosts;  ///< of all ranks, so their number too
};

/// One measured time, to calibrate with.
struct Observation {
    Configuration configuration;
    ModelCall call;
    double time_ns = 0;
};

/// Predicts the time of a call from the steps of its schedule. See docs/tuning.md, "The model".
class CostModel {
public:
    /// ns; nothing for what it was not calibrated for (a transport, a library's own collective).
    std::optional<double> predict(const Configuration& configuration, const ModelCall& call) const;
};

}  // namespace tutti
