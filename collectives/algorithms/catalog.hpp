// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/job.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// Why an algorithm cannot do a job, and what to take instead; nothing if it can.
using Refusal = std::optional<std::string> (*)(const Job&);

/// One row of the table that tests, tuner, command and documents walk.
struct Algorithm {
    Collective collective;
    std::string_view name;  ///< kebab-case and stable: results files use it
    std::string_view idea;  ///< one sentence
    Schedule (*build)(const Job&);
    Refusal refuses;
    bool pipelines = false;     ///< makes use of Job::segments
    bool hierarchical = false;  ///< makes use of Job::placement
    bool takes_radix = false;   ///< makes use of Job::radix: how many a step multiplies by
};

/// The schedule of a job in its order: the algorithm runs over positions, and ranks take the places
/// that the order gives them; several channels carry a share of the message each. Without an order
/// it is what the algorithm builds.
Schedule build_in_order(const Algorithm& algorithm, const Job& job);

/// Every algorithm of every collective: the one place where they are listed.
std::span<const Algorithm> catalog();

/// Null if the collective has no such algorithm.
const Algorithm* algorithm_called(Collective collective, std::string_view name);

/// Throws Error naming the known algorithms, or the collectives that the name does exist for.
const Algorithm& find_algorithm(Collective collective, std::string_view name);

/// The algorithms of one collective, in the order of the catalog.
std::vector<const Algorithm*> algorithms_of(Collective collective);

}  // namespace tutti
