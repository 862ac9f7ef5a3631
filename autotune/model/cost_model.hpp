// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/choice/subject.hpp"
#include "autotune/model/loggp_parameters.hpp"
#include "base/configuration.hpp"
#include "collectives/planner/routed_call.hpp"
#include "topology/machine/host_tuning.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Returns whether the model covers such buffers: those of the host, which it is calibrated with.
inline bool is_modelled(BufferKind kind) {
    return kind == BufferKind::registered || kind == BufferKind::unregistered;
}

/// One measured time for the calibration.
struct Observation {
    Configuration configuration;
    RoutedCall call;
    double time_ns = 0;
};

/// The machine that a model describes.
struct ModelledMachine {
    std::string fingerprint;  ///< covers all hosts (topology/machine/fingerprint.hpp)
    int cores = 1;            ///< cores of a host that ranks can use
    HostTuning tuning = {};   ///< of its plans
    /// Fingerprint of each of several equal hosts; empty for one host, or different ones.
    std::string host = {};
    int links = 1;  ///< of each host, see World::links
    bool operator==(const ModelledMachine&) const = default;
};

/// The parameters of a cost model, and the machine and ranks that they were measured on.
struct ModelParameters {
    ModelledMachine machine;
    std::vector<int> ranks;  ///< of the calibration, ascending
    std::string date;        ///< RFC 3339, UTC
    std::map<std::string, LogGpParameters> within,
        across;  ///< within a host, across hosts; by transport and memory
    bool operator==(const ModelParameters&) const = default;
};

/// Predicts the time of a call from the steps of its schedule. See docs/background/limits.md.
class CostModel {
public:
    CostModel() = default;  ///< predicts nothing
    explicit CostModel(ModelParameters parameters) : parameters_(std::move(parameters)) {}

    const ModelParameters& parameters() const { return parameters_; }

    /// Predicts the time in ns. Returns nothing for configurations that were not calibrated (a
    /// transport, a library's own collective) or that cannot run.
    std::optional<double> predict(const Configuration& configuration, const RoutedCall& call) const;

    /// Returns whether it was calibrated over the transport with any ranks and memory.
    bool knows(std::string_view transport) const;

private:
    ModelParameters parameters_;
};

}  // namespace tutti
#pragma GCC visibility pop
