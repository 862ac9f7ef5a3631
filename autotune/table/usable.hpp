// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"

namespace tutti {

/// Returns why this build cannot use a choice on these ranks: its algorithm, transport or library
/// is missing or refuses them; none if it can. Whether a transport works on the hosts is known only
/// once it is opened.
std::optional<std::string> unusable(const Configuration& choice, const Subject& subject,
                                    const JobShape& job_shape);

/// Returns the replacement for a range's choice: a runner-up in its evidence, the library that it
/// was compared with, or any available library; none if there is none. Never the choice itself.
std::optional<Configuration> fallback(const Section& section, const Range& range);

/// A choice that cannot be used.
struct UnusableChoice {
    JobShape job_shape;
    Subject subject;
    Bytes from;  ///< start of its range
    Configuration choice;
    std::string reason;
    std::optional<Configuration> instead;
};

/// Returns all choices of the table that cannot be used.
std::vector<UnusableChoice> unusable(const Table& table);

/// Replaces each choice that cannot be used by its fallback. Ranges without a fallback take the
/// choice of the previous or next range; sections without any are left out.
Table usable(Table table);

}  // namespace tutti
