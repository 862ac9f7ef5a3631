// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <utility>

#include "autotune/model/cost_model.hpp"
#include "autotune/model/route.hpp"
#include "autotune/model/schedule_walk.hpp"

namespace tutti {

/// The tariffs that a call is charged by; `across` only where it has several hosts.
struct CallParameters {
    const LogGpParameters* within = nullptr;
    const LogGpParameters* across = nullptr;
};

inline const LogGpParameters* tariff_called(const std::map<std::string, LogGpParameters>& tariffs,
                                            const std::string& name) {
    const auto known = tariffs.find(name);
    return known == tariffs.end() ? nullptr : &known->second;
}

/// Nothing where the model has no tariff for what the route needs.
inline std::optional<CallParameters> tariffs_for(const ModelParameters& model, const Route& route,
                                                 const ModelCall& call) {
    const CallParameters tariffs{tariff_called(model.within, route.tariff),
                                 tariff_called(model.across, route.tariff)};
    const bool several = call.hosts.nodes().size() > 1;
    const bool one_each =
        several && call.hosts.nodes().size() == static_cast<std::size_t>(call.ranks());
    if ((tariffs.within == nullptr && !one_each) || (several && tariffs.across == nullptr))
        return std::nullopt;
    return tariffs;
}

/// The time of a call on this route, and how many transfers were looked at.
template <class Time>
std::pair<Time, std::int64_t> cost_of(const Route& route, const ModelCall& call,
                                      CallParameters tariffs, int cores_of_host) {
    const int ranks = call.ranks();
    const double footprint = bytes_of_all_buffers(call.call, ranks) / ranks;
    // With one rank a host all is across, and a rank's own copies are priced as that.
    const bool all_across = tariffs.within == nullptr;
    const LogGpParameters& at_home = all_across ? *tariffs.across : *tariffs.within;
    const LogGpParameters& abroad = tariffs.across == nullptr ? at_home : *tariffs.across;
    CallCosts<Time> within(at_home, footprint, all_across ? LogGpParameters::terms : 0);
    CallCosts<Time> across(abroad, footprint, LogGpParameters::terms);
    const CoreAssignment seats(call.hosts, ranks, cores_of_host);
    ScheduleWalk<Time> walk(route, call.call, seats, within, across);
    Time time = walk.run();
    return {std::move(time), walk.visited()};
}

}  // namespace tutti
