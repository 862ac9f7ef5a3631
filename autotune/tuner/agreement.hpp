// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "autotune/table/table.hpp"
#include "autotune/tuner/race_log.hpp"

namespace tutti {

/// What one launch of a search has left: what it would choose by itself, and its samples.
struct TunedLaunch {
    Table table;
    std::vector<RaceLog::Entry> races;
};

/// The table of several launches of one search. Launches differ by more than the calls of one, so
/// what a launch says of a configuration at a size is one number, its median; and by more than
/// configurations do, so it is compared with those of the same launch alone: the choice is what is
/// least behind the fastest, in the median of the launches. What gave a wrong result in any launch
/// is left out.
Table agreed(std::span<const TunedLaunch> launches, double hysteresis);

/// What is left of a table's choices after several launches have held them against the library's
/// own collective (see hold_out): the gain is the median of the launches' gains, and the default
/// stays unless the interval between launches lies above 1. Sections that none of them looked at
/// stay as they are. `launches` are the tables that they made of this one.
Table held_out(Table table, std::span<const Table> launches);

}  // namespace tutti
