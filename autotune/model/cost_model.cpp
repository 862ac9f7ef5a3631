// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/cost_model.hpp"

#include <algorithm>

#include "autotune/model/costing.hpp"

namespace tutti {

int ModelCall::ranks() const {
    std::size_t ranks = 0;
    for (const auto& host : hosts.nodes()) ranks += host.size();
    return static_cast<int>(ranks);
}

std::optional<double> CostModel::predict(const Configuration& configuration,
                                         const ModelCall& asked) const {
    ModelCall call = asked;
    if (call.buffers == BufferKind::mapped) call.buffers = BufferKind::registered;  // as good as
    if (!is_modelled(call.buffers)) return std::nullopt;
    const auto route = route_of(configuration, call, parameters_.machine);
    if (!route) return std::nullopt;
    const auto charged = parameters_for(parameters_, *route, call);
    if (!charged) return std::nullopt;
    return cost_of<double>(*route, call, *charged, parameters_.machine.cores).first;
}

bool CostModel::knows(std::string_view transport) const {
    const auto is_of_it = [&](const auto& parameters) {
        return parameters.first.starts_with(transport);
    };
    return std::ranges::any_of(parameters_.within, is_of_it) ||
           std::ranges::any_of(parameters_.across, is_of_it);
}

}  // namespace tutti
