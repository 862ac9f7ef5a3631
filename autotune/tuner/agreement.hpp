// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string_view>
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

/// A size at which launches compared the library's own collective with a file of the table's
/// choices. A launch may lack some sizes.
struct ComparedSize {
    Collective collective;
    Bytes size;
    HoldOut seen;
    std::map<int, double> gains = {};  ///< by the number of the launch
};

/// The evidence that a choice needs to stay in the file. `gain`: the interval of the gain is above
/// 1. `gain_again`, for a second comparison: in addition, the median gain is at least 3 %. The
/// interval is the size's own or its pooled interval. The pooled interval is that of the mean gain
/// in each launch of the size and its direct neighbours that have the same choice. If only the
/// pooled interval is above 1, the median of the size itself must be above 1, too. The mean is over
/// the sizes that the launch has.
enum class Needed { gain, gain_again };

/// With fewer pairs of jobs, a ratio has no interval of 95 %, so no choice stays.
inline constexpr std::int64_t fewest_pairs = 6;

/// Returns the table's choices for these ranks after such a comparison. The own collective of
/// `library`, such as "mpi", replaces those that lack what they need. With `gain`, a choice that
/// was not compared is replaced; with `gain_again`, it stays if it was compared before. A library
/// looks at its rules in every call of a collective that has some: if a size without a choice is
/// more than 2 % slower over its whole own interval and over its whole pooled interval, the
/// collective loses all choices. With `gain_again`, a collective that gains nothing in the
/// geometric mean of the compared sizes also loses all choices.
Table held_out(Table table, const JobShape& job_shape, std::string_view library,
               std::span<const ComparedSize> compared, Needed needed);

/// Returns the table for the second comparison: a size that lost its choice in the first one gets
/// that of the next smaller or larger size, if that kept another one; of two, the one with the
/// larger gain.
Table with_choices_of_neighbours(Table table);

/// Returns an earlier table of a library with the sections of a newer one. A library's file has one
/// set of rules for a collective, so sections for other types and operations of the same collective
/// go, too.
Table replaced_in(Table earlier, const Table& newer);

}  // namespace tutti
