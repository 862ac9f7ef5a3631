// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.hpp"

namespace tutti {

std::int64_t Parameter::count() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Model::count() const {
    std::int64_t sum = 0;
    for (const auto& parameter : parameters) sum += parameter.count();
    return sum;
}

double Model::forward_flops() const {
    double sum = 0;
    for (const auto& parameter : parameters) sum += parameter.forward_flops;
    return sum;
}

int Model::units() const {
    int last = -1;
    for (const auto& parameter : parameters) last = std::max(last, parameter.unit);
    return last + 1;
}

std::vector<std::int64_t> Model::unit_counts() const {
    std::vector<std::int64_t> counts(units(), 0);
    for (const auto& parameter : parameters) counts[parameter.unit] += parameter.count();
    return counts;
}

namespace {

std::int64_t some_of(std::int64_t count, double factor) {
    if (count == 0) return 0;
    const auto part = std::llround(static_cast<double>(count) * factor);
    return std::max<std::int64_t>(1, part);
}

/// Reduces the number of rows if enough are left to keep the rounding error below a sixteenth;
/// otherwise returns a vector.
std::vector<std::int64_t> some_rows_of(const Parameter& parameter, double factor) {
    constexpr double enough = 8;
    if (parameter.shape.empty() || static_cast<double>(parameter.shape.front()) * factor < enough)
        return {some_of(parameter.count(), factor)};
    auto shape = parameter.shape;
    shape.front() = some_of(shape.front(), factor);
    return shape;
}

}  // namespace

Model scaled(const Model& model, double factor) {
    if (!(factor > 0 && factor <= 1))
        throw Error(fmt::format(
            "scale {} is out of range; use a factor above 0 and at most 1, such as 0.1", factor));
    if (factor == 1) return model;
    Model smaller = model;
    for (auto& parameter : smaller.parameters) {
        parameter.shape = some_rows_of(parameter, factor);
        parameter.forward_flops *= factor;
    }
    for (auto& buffer : smaller.buffers) buffer.count = some_of(buffer.count, factor);
    if (smaller.transformer)
        smaller.transformer->sequence = some_of(smaller.transformer->sequence, factor);
    if (smaller.tables) smaller.tables->dimension = some_of(smaller.tables->dimension, factor);
    return smaller;
}

}  // namespace tutti
