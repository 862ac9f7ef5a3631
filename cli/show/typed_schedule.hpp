// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "cli/options/options.hpp"
#include "cli/show/ways.hpp"
#include "collectives/algorithms/catalog.hpp"

namespace tutti {

/// A schedule as typed: an algorithm, its collective and the options of a job.
struct TypedSchedule {
    std::string name, collective, order_file, file;
    std::optional<Ways> ways;
    Job job{.ranks = 4};
    Configuration configuration;
    int per_node = 0, per_island = 0;

    /// Takes the algorithm of --from, or words: an algorithm, with or without a collective. Throws
    /// Error for other words.
    void set_words(const CLI::App& app, const Arguments& words, std::string_view command);
};

/// Adds the options of a schedule.
void add_schedule(const OptionGroup& group, TypedSchedule& typed);

struct BuiltSchedule {
    const Algorithm& algorithm;
    Job job;
    std::optional<Ways> ways;
    Schedule schedule;
};

/// Throws Error if there is no such algorithm, or it cannot do the job.
BuiltSchedule build(TypedSchedule typed);

}  // namespace tutti
