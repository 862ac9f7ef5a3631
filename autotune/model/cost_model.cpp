// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "autotune/model/loggp_parameters.hpp"
#include "autotune/model/schedule_walk.hpp"

namespace tutti {

CurvePlace place_on(const double* points, std::size_t count, double size) {
    if (size <= points[0]) return {0, 0};
    if (size >= points[count - 1]) return {count - 2, 1};
    const double* above = std::upper_bound(points, points + count, size);
    const double below = above[-1];
    return {static_cast<std::size_t>(above - points) - 1,
            std::log(size / below) / std::log(*above / below)};
}

LogGpParameters LogGpParameters::uniform(double step, double message, double copy, double reduce) {
    LogGpParameters parameters;
    parameters.ns[LogGpParameters::step] = step;
    const auto fill = [&](std::size_t first, std::size_t count, double value) {
        std::fill_n(parameters.ns.begin() + static_cast<std::ptrdiff_t>(first), count, value);
    };
    fill(LogGpParameters::message, message_points.size(), message);
    fill(begin_of(PerByte::copy), footprint_points.size(), copy);
    fill(begin_of(PerByte::reduce), footprint_points.size(), reduce);
    fill(begin_of(PerByte::add), footprint_points.size(), reduce);
    return parameters;
}

std::optional<double> CostModel::predict(const Configuration& configuration,
                                         const RoutedCall& call) const {
    if (!is_modelled(call.buffers) && call.buffers != BufferKind::mapped) return std::nullopt;
    const auto plan = expected_plan(configuration, call, parameters_.machine);
    if (!plan) return std::nullopt;
    const auto charged = parameters_for(parameters_, *plan, call);
    if (!charged) return std::nullopt;
    return cost_of<double>(*plan, call, *charged, parameters_.machine.cores).first;
}

bool CostModel::knows(std::string_view transport) const {
    const auto is_of_it = [&](const auto& parameters) {
        return parameters.first.starts_with(transport);
    };
    return std::ranges::any_of(parameters_.within, is_of_it) ||
           std::ranges::any_of(parameters_.across, is_of_it);
}

}  // namespace tutti
