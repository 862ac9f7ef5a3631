// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"

namespace tutti {

/// Why a choice cannot be used by this build on these ranks, as its algorithm, transport or library
/// is missing or refuses them; nothing if it can. Whether the hosts let a transport work is known
/// only once it is opened.
std::optional<std::string> unusable(const Configuration& choice, const Subject& subject,
                                    const JobShape& job_shape);

/// What to take for the range instead of its choice: a runner-up of its evidence, the library that
/// it was compared with, or any library that there is; nothing if there is none. Never the choice.
std::optional<Configuration> fallback(const Section& section, const Range& range);

/// A choice that cannot be used.
struct UnusableChoice {
    JobShape job_shape;
    Subject subject;
    Bytes from;  ///< of its range
    Configuration choice;
    std::string reason;
    std::optional<Configuration> instead;
};

/// All that the table chooses in vain.
std::vector<UnusableChoice> unusable(const Table& table);

/// The table with a fallback for each choice that cannot be used. Ranges that have none take the
/// choice of the range before or behind; sections without any are left out.
Table usable(Table table);

}  // namespace tutti
