// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"
#include "workloads/program/settings.hpp"

/// Settings and helpers of all patterns of parallelism.
namespace tutti {

inline constexpr SettingRow scale_setting{
    "scale", "so many times the model's elements, to fit memory: 0.1; small: 2M elements at most",
    "1"};
inline constexpr SettingRow type_setting{"element", "type of gradients, weights and activations",
                                         "float"};
inline constexpr SettingRow tokens_setting{
    "tokens", "of a (micro-)batch and rank; 0: one sequence of the model", "0"};

/// The settings `model` and `scale`.
Model scaled_model(const Settings& settings);

/// The same for a transformer. Throws Error naming `candidates` for other models.
Model transformer_model(const Settings& settings, std::string_view candidates);

/// The setting `tokens` for this transformer.
std::int64_t tokens_of(const Settings& settings, const Model& model);

/// The setting `element`: a type that has a mean.
DataType element_type(const Settings& settings);

/// The setting `step-time`.
std::int64_t step_ns_of(const Settings& settings);

/// Ranks as a grid: each block is `inner` consecutive ranks.
struct RankGrid {
    int inner = 1;
    int blocks = 1;
    int ranks() const { return inner * blocks; }
    /// The ranks of one block.
    std::vector<Rank> block(int index) const;
    /// The ranks at this index of every block.
    std::vector<Rank> across(int place) const;
};

/// `wanted` ranks to a block, 0: all. Throws Error naming `setting` unless that divides the ranks.
RankGrid grid_of(int ranks, int wanted, std::string_view setting);

/// A program of so many ranks without tasks.
Program empty_program(const Model& model, int ranks);
/// The same for ranks that share one list of tasks.
Program program_of_alike(const Model& model, int ranks);

}  // namespace tutti
