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
#include "collectives/execute/plan/layout.hpp"
#include "topology/machine/host_tuning.hpp"
#include "topology/placement/placement.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Whether the model knows such buffers: the host's, which it is calibrated with.
inline bool is_modelled(BufferKind kind) {
    return kind == BufferKind::registered || kind == BufferKind::unregistered;
}

/// A call as the model sees it, out of place.
struct ModelCall {
    Call call;
    BufferKind buffers = BufferKind::registered;  ///< see is_modelled; mapped counts as registered
    Placement hosts;                              ///< of all ranks, so their number too

    int ranks() const;
};

/// One measured time, to calibrate with.
struct Observation {
    Configuration configuration;
    ModelCall call;
    double time_ns = 0;
};

/// The machine that a model is of.
struct ModelledMachine {
    std::string fingerprint;  ///< of all hosts (topology/machine/fingerprint.hpp)
    int cores = 1;            ///< of a host, for ranks
    HostTuning tuning = {};   ///< that plans are made with
    /// Fingerprint of each of several hosts that are alike; else empty: one host, or unlike ones.
    std::string host = {};
    bool operator==(const ModelledMachine&) const = default;
};

/// What a model knows.
struct ModelParameters {
    ModelledMachine machine;
    std::vector<int> ranks;  ///< that it was calibrated with, ascending
    std::string date;        ///< RFC 3339, UTC
    std::map<std::string, LogGpParameters> within,
        across;  ///< a host, hosts; by transport and memory
    bool operator==(const ModelParameters&) const = default;
};

/// Predicts the time of a call from the steps of its schedule. See docs/background/model.md.
class CostModel {
public:
    CostModel() = default;  ///< predicts nothing
    explicit CostModel(ModelParameters parameters) : parameters_(std::move(parameters)) {}

    const ModelParameters& parameters() const { return parameters_; }

    /// ns; nothing for what it was not calibrated for (a transport, a library's own collective), or
    /// what cannot be done at all.
    std::optional<double> predict(const Configuration& configuration, const ModelCall& call) const;

    /// Whether it was calibrated over the transport, between some ranks and memory.
    bool knows(std::string_view transport) const;

private:
    ModelParameters parameters_;
};

}  // namespace tutti
#pragma GCC visibility pop
