// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "autotune/table/table.hpp"
#include "autotune/tuner/race_log.hpp"

namespace tutti {

/// Results of one launch of a search: the table that it would choose by itself, and its samples.
struct TunedLaunch {
    Table table;
    std::vector<RaceLog::Entry> races;
};

/// Returns the table of several launches of one search. Launches differ by more than the calls of
/// one do, so each launch contributes one number for a configuration at a size, its median. They
/// also differ by more than configurations do, so it is compared with others of the same launch
/// only. The choice is the configuration with the smallest median ratio to the fastest.
/// Configurations with a wrong result in any launch are left out.
Table agreed(std::span<const TunedLaunch> launches, double hysteresis);

/// Returns the table's choices after several launches compared them with the library's own
/// collective (see hold_out). The gain is the median of the launches' gains, and the default stays
/// unless the interval between launches is above 1. Sections that no launch compared stay
/// unchanged. `launches` are the tables that the launches made of this one.
Table held_out(Table table, std::span<const Table> launches);

}  // namespace tutti
