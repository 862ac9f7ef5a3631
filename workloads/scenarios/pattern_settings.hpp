// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"
#include "workloads/program/settings.hpp"

/// What the patterns of parallelism ask for alike.
namespace tutti {

inline constexpr SettingRow scale_setting{
    "scale", "so many times the model's elements, to fit memory: 0.1; small: 2M elements at most",
    "1"};
inline constexpr SettingRow type_setting{"element", "type of gradients, weights and activations",
                                         "float"};
inline constexpr SettingRow tokens_setting{
    "tokens", "of a (micro-)batch and rank; 0: one sequence of the model", "0"};

/// The settings `model` and `scale`.
Model asked_model(const Settings& asked);

/// The same, of a model whose activations are known. `usual` is named to who asks for another.
Model asked_transformer(const Settings& asked, std::string_view usual);

/// The setting `tokens` for this transformer.
std::int64_t asked_tokens(const Settings& asked, const Model& model);

/// The setting `element`: a type that has a mean.
DataType asked_type(const Settings& asked);

/// The setting `step-time`.
std::int64_t asked_step_ns(const Settings& asked);

/// Ranks as a grid: `inner` ranks that follow each other make a block.
struct RankGrid {
    int inner = 1;
    int blocks = 1;
    int ranks() const { return inner * blocks; }
    /// The ranks of one block.
    std::vector<Rank> block(int index) const;
    /// Those with the same place in all blocks.
    std::vector<Rank> across(int place) const;
};

/// `wanted` ranks to a block, 0: all. Throws Error naming `setting` unless that divides the ranks.
RankGrid grid_of(int ranks, int wanted, std::string_view setting);

/// A step of these ranks in which nothing happens yet.
Program empty_program(const Model& model, int ranks);
/// The same, for ranks that all do the same: what is written for one is written for all.
Program program_of_alike(const Model& model, int ranks);

}  // namespace tutti
