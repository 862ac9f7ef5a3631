// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "workloads/scenarios/pipeline.hpp"

namespace tutti {

std::vector<Passing> passings_of(PipelineOrder order, int stage, int stages, int micro_batches) {
    using enum Passing::Direction;
    // A stage is ahead by those that are on their way to the end and back.
    const int ahead =
        order == PipelineOrder::gpipe ? micro_batches : std::min(micro_batches, stages - 1 - stage);
    std::vector<Passing> passings;
    int next = 0;
    while (next < ahead) passings.push_back({forward, next++});
    for (int done = 0; done < micro_batches; ++done) {
        if (next < micro_batches) passings.push_back({forward, next++});
        passings.push_back({backward, done});
    }
    return passings;
}

int most_in_flight(PipelineOrder order, int stage, int stages, int micro_batches) {
    int now = 0, most = 0;
    for (const Passing& passing : passings_of(order, stage, stages, micro_batches)) {
        now += passing.direction == Passing::Direction::forward ? 1 : -1;
        most = std::max(most, now);
    }
    return most;
}

int weight_versions(PipelineOrder order, int stage, int stages) {
    if (order != PipelineOrder::pipedream) return 1;
    // As many as would fill it: the pipeline never runs empty.
    return most_in_flight(order, stage, stages, 2 * stages);
}

std::vector<int> stages_of_units(const Model& model, int stages) {
    const int units = model.units(), blocks = units - 2;
    if (stages > blocks)
        throw Error(fmt::format("{} stages are more than the {} layers of {}: try --stages {}",
                                stages, blocks, model.name, blocks));
    std::vector<int> stage_of;
    for (int unit = 0; unit < units; ++unit)
        stage_of.push_back(unit == 0          ? 0
                           : unit + 1 < units ? (unit - 1) * stages / blocks
                                              : stages - 1);
    return stage_of;
}

bool has_tied_head(const Model& model) {
    if (!model.transformer) return false;
    const auto counts = model.unit_counts();
    double flops = 0;  // of the last unit
    for (const Parameter& parameter : model.parameters)
        if (parameter.unit + 1 == model.units()) flops += parameter.forward_flops;
    // It multiplies by a matrix of the vocabulary (2 V H S flops), which it has not.
    const Transformer& shape = *model.transformer;
    const double half_a_head =
        static_cast<double>(shape.vocabulary * shape.hidden) * static_cast<double>(shape.sequence);
    return flops > half_a_head && counts.back() < counts.front() / 2;
}

}  // namespace tutti
