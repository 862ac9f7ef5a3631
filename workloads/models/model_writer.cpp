// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model_writer.hpp"

#include <fmt/format.h>

namespace tutti {

int ModelWriter::add(const std::string& name, std::vector<std::int64_t> shape, double flops) {
    model_.parameters.push_back({name, std::move(shape), flops, unit_});
    return static_cast<int>(model_.parameters.size()) - 1;
}

Layer ModelWriter::table(const std::string& name, std::int64_t rows, std::int64_t width) {
    return {add(fmt::format("{}.weight", name), {rows, width}, 0)};
}

Layer ModelWriter::projection(const std::string& name, std::int64_t from, std::int64_t to,
                              double uses) {
    const double macs = static_cast<double>(from) * static_cast<double>(to) * uses;
    return {add(fmt::format("{}.weight", name), {to, from}, 2 * macs)};
}

Layer ModelWriter::linear(const std::string& name, std::int64_t from, std::int64_t to,
                          double uses) {
    const int weight = projection(name, from, to, uses).front();
    const int bias = add(fmt::format("{}.bias", name), {to}, static_cast<double>(to) * uses);
    return {bias, weight};
}

Layer ModelWriter::scale(const std::string& name, std::int64_t width, double uses) {
    return {add(fmt::format("{}.weight", name), {width}, static_cast<double>(width) * uses)};
}

Layer ModelWriter::norm(const std::string& name, std::int64_t width, double uses) {
    const int weight = scale(name, width, uses).front();
    return {weight, add(fmt::format("{}.bias", name), {width}, static_cast<double>(width) * uses)};
}

Layer ModelWriter::batch_norm(const std::string& name, std::int64_t width, double uses) {
    if (model_.buffers.empty()) model_.buffers = {{Bytes{4}, 0}, {Bytes{8}, 0}};
    model_.buffers[0].count += 2 * width;
    model_.buffers[1].count += 1;
    return norm(name, width, uses);
}

Layer ModelWriter::convolution(const std::string& name, std::int64_t from, std::int64_t to,
                               std::int64_t kernel, double uses) {
    const double macs = static_cast<double>(from * to * kernel * kernel) * uses;
    return {add(fmt::format("{}.weight", name), {to, from, kernel, kernel}, 2 * macs)};
}

Layer ModelWriter::biased_convolution(const std::string& name, std::int64_t from, std::int64_t to,
                                      std::int64_t kernel, double uses) {
    const int weight = convolution(name, from, to, kernel, uses).front();
    return {weight, add(fmt::format("{}.bias", name), {to}, static_cast<double>(to) * uses)};
}

void ModelWriter::run(const std::vector<Layer>& layers) {
    executed_.insert(executed_.end(), layers.begin(), layers.end());
}

void ModelWriter::compute(double flops) {
    model_.parameters.at(executed_.back().front()).forward_flops += flops;
}

Model ModelWriter::done() && {
    for (auto layer = executed_.rbegin(); layer != executed_.rend(); ++layer)
        model_.ready_order.insert(model_.ready_order.end(), layer->begin(), layer->end());
    return std::move(model_);
}

}  // namespace tutti
