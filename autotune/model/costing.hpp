// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <utility>

#include "autotune/model/cost_model.hpp"
#include "autotune/model/route.hpp"
#include "autotune/model/schedule_walk.hpp"

namespace tutti {

/// The parameters that a call is charged by; `across` only where it has several hosts.
struct CallParameters {
    const LogGpParameters* within = nullptr;
    const LogGpParameters* across = nullptr;
};

inline const LogGpParameters* parameters_called(
    const std::map<std::string, LogGpParameters>& parameters, const std::string& name) {
    const auto known = parameters.find(name);
    return known == parameters.end() ? nullptr : &known->second;
}

/// Nothing where the model has no parameters for what the route needs.
inline std::optional<CallParameters> parameters_for(const ModelParameters& model,
                                                    const Route& route, const ModelCall& call) {
    const CallParameters parameters{parameters_called(model.within, route.parameters),
                                    parameters_called(model.across, route.parameters)};
    const bool several = call.hosts.nodes().size() > 1;
    const bool one_each =
        several && call.hosts.nodes().size() == static_cast<std::size_t>(call.ranks());
    if ((parameters.within == nullptr && !one_each) || (several && parameters.across == nullptr))
        return std::nullopt;
    return parameters;
}

/// The time of a call on this route, and how many transfers were looked at.
template <class Time>
std::pair<Time, std::int64_t> cost_of(const Route& route, const ModelCall& call,
                                      CallParameters parameters, int cores_of_host) {
    const int ranks = call.ranks();
    const double footprint = bytes_of_all_buffers(call.call, ranks) / ranks;
    // With one rank per host all messages go across, and a rank's own copies are charged with those
    // parameters.
    const bool all_across = parameters.within == nullptr;
    const LogGpParameters& within_host = all_across ? *parameters.across : *parameters.within;
    const LogGpParameters& between_hosts =
        parameters.across == nullptr ? within_host : *parameters.across;
    CallCosts<Time> within(within_host, footprint, all_across ? LogGpParameters::terms : 0);
    CallCosts<Time> across(between_hosts, footprint, LogGpParameters::terms);
    const CoreAssignment assignment(call.hosts, ranks, cores_of_host);
    ScheduleWalk<Time> walk(route, call.call, assignment, within, across);
    Time time = walk.run();
    return {std::move(time), walk.visited()};
}

}  // namespace tutti
