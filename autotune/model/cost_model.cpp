// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/cost_model.hpp"

#include <algorithm>

#include "autotune/model/costing.hpp"

namespace tutti {
namespace {

// A core for each rank.
constexpr int enough_cores = 1 << 30;

// What terms belong to, so that the items of a path can be added up.
double* share_for(Explanation& explanation, std::size_t term) {
    if (term < LogGpParameters::bytes && term != LogGpParameters::link)
        return term == LogGpParameters::context_switch ? &explanation.waiting
                                                       : &explanation.latency;
    const bool adds = term >= LogGpParameters::begin_of(PerByte::reduce) &&
                      term < LogGpParameters::begin_of(PerByte::write);
    return adds ? &explanation.reduction : &explanation.bytes;
}

struct RoutedCall {
    Route route;
    CallParameters parameters;
};

std::optional<RoutedCall> routed(const ModelParameters& model, const Configuration& configuration,
                                 const ModelCall& call) {
    if (!is_modelled(call.buffers)) return std::nullopt;
    auto route = route_of(configuration, call, model.machine);
    if (!route) return std::nullopt;
    const auto parameters = parameters_for(model, *route, call);
    if (!parameters) return std::nullopt;
    return RoutedCall{std::move(*route), *parameters};
}

}  // namespace

int ModelCall::ranks() const {
    std::size_t ranks = 0;
    for (const auto& host : hosts.nodes()) ranks += host.size();
    return static_cast<int>(ranks);
}

std::optional<double> CostModel::predict(const Configuration& configuration,
                                         const ModelCall& call) const {
    const auto found = routed(parameters_, configuration, call);
    if (!found) return std::nullopt;
    return cost_of<double>(found->route, call, found->parameters, parameters_.machine.cores).first;
}

bool CostModel::knows(std::string_view transport) const {
    const auto is_of_it = [&](const auto& parameters) {
        return parameters.first.starts_with(transport);
    };
    return std::ranges::any_of(parameters_.within, is_of_it) ||
           std::ranges::any_of(parameters_.across, is_of_it);
}

std::int64_t CostModel::visits(const Configuration& configuration, const ModelCall& call) const {
    const auto found = routed(parameters_, configuration, call);
    if (!found) return 0;
    return cost_of<double>(found->route, call, found->parameters, parameters_.machine.cores).second;
}

std::optional<Explanation> CostModel::explain(const Configuration& configuration,
                                              const ModelCall& call) const {
    const auto found = routed(parameters_, configuration, call);
    if (!found) return std::nullopt;
    const Itemized uncontended =
        cost_of<Itemized>(found->route, call, found->parameters, enough_cores).first;
    Explanation explanation;
    const auto add = [&](const LogGpParameters* parameters, std::size_t begin) {
        if (parameters == nullptr) return;
        for (std::size_t term = 0; term < LogGpParameters::terms; ++term)
            *share_for(explanation, term) +=
                uncontended.amount[begin + term] * parameters->ns[term];
    };
    add(found->parameters.within, 0);
    add(found->parameters.across, LogGpParameters::terms);
    explanation.total =
        cost_of<double>(found->route, call, found->parameters, parameters_.machine.cores).first;
    explanation.waiting = std::max(0.0, explanation.total - uncontended.ns);
    return explanation;
}

}  // namespace tutti
