// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/models/model_list.hpp"

namespace tutti {
namespace {

// Elements of a model that runs in a short demonstration.
constexpr double small = 2e6;

double scale_factor(const Settings& settings) {
    try {
        return settings.real("scale", 1e-9, 1);
    } catch (const Error&) {
        settings.refuse("scale", "small, nor a number from 1e-09 to 1");
    }
}

}  // namespace

Model scaled_model(const Settings& settings) {
    const Model model = find_model(settings.text("model")).model;
    if (settings.text("scale") == "small")
        return scaled(model, std::min(1.0, small / static_cast<double>(model.count())));
    return scaled(model, scale_factor(settings));
}

Model transformer_model(const Settings& settings, std::string_view candidates) {
    Model model = scaled_model(settings);
    if (!model.transformer)
        throw Error(
            fmt::format("--model {}: {} is not a transformer, so what its layers send is not "
                        "known; use {}",
                        settings.text("model"), model.name, candidates));
    return model;
}

std::int64_t tokens_of(const Settings& settings, const Model& model) {
    const std::int64_t tokens = settings.number("tokens", 0, 1 << 24);
    return tokens > 0 ? tokens : model.transformer->sequence;
}

DataType element_type(const Settings& settings) {
    return settings.word<DataType>("element", {{"float", DataType::float32},
                                               {"bfloat16", DataType::bfloat16},
                                               {"half", DataType::half},
                                               {"double", DataType::float64}});
}

std::int64_t step_ns_of(const Settings& settings) {
    return static_cast<std::int64_t>(settings.seconds("step-time") * 1e9);
}

std::vector<Rank> RankGrid::block(int index) const {
    std::vector<Rank> members;
    for (int place = 0; place < inner; ++place) members.push_back({index * inner + place});
    return members;
}

std::vector<Rank> RankGrid::across(int place) const {
    std::vector<Rank> members;
    for (int index = 0; index < blocks; ++index) members.push_back({index * inner + place});
    return members;
}

RankGrid grid_of(int ranks, int wanted, std::string_view setting) {
    if (wanted == 0) return {.inner = ranks, .blocks = 1};
    if (ranks % wanted != 0) {
        std::string fitting;
        for (int few = 1; few <= ranks; ++few)
            if (ranks % few == 0) fitting += fmt::format("{}{}", few > 1 ? ", " : "", few);
        throw Error(fmt::format("--{} {} does not divide {} ranks; use one of {}", setting, wanted,
                                ranks, fitting));
    }
    return {.inner = wanted, .blocks = ranks / wanted};
}

Program empty_program(const Model& model, int ranks) {
    return {.name = model.name,
            .groups = {},
            .calls = {},
            .tasks = std::vector<std::vector<Task>>(as_size(ranks))};
}

Program program_of_alike(const Model& model, int ranks) {
    Program program = empty_program(model, 1);
    program.role_of.resize(as_size(ranks));
    return program;
}

}  // namespace tutti
