// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"

namespace tutti {

/// `count` floats of a vector or block, on hosts of `per_host` ranks each.
inline RoutedCall model_call(Collective collective, int ranks, int per_host, std::int64_t count) {
    RoutedCall call;
    call.call.collective = collective;
    call.call.count = count;
    call.hosts = Placement::in_nodes_of(ranks, per_host);
    return call;
}

inline Configuration configured(const std::string& algorithm, const std::string& transport) {
    Configuration configuration;
    configuration.algorithm = algorithm;
    configuration.transport = transport;
    return configuration;
}

/// All that a model may ask for costs the same, inside hosts and across.
inline CostModel model_of(const LogGpParameters& parameters, int cores = 1 << 20) {
    ModelParameters known;
    known.machine.cores = cores;
    for (const std::string name :
         {"mpi/registered", "mpi/unregistered", "shm-lines", "shm-direct/registered",
          "shm-direct/unregistered", "shm-cma/unregistered", "hybrid shm-direct/registered"})
        for (const std::string crowd : {"", " oversubscribed"})
            known.within[name + crowd] = known.across[name + crowd] = parameters;
    return CostModel(known);
}

}  // namespace tutti
