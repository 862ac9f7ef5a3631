// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/search/track.hpp"
#include "workloads/candidates.hpp"

namespace tutti {

/// One of those that race: as it is run, as it is written down, and as the search knows it.
struct Variant {
    Candidate candidate;
    Configuration configuration;
    Arm arm;
};

Configuration configuration_of(const Candidate& candidate);

/// Candidates of the same algorithm over the same transport are a family; each parameter's notches
/// are its values among the candidates of all families, ascending.
std::vector<Variant> variants_of(const std::vector<Candidate>& candidates);

/// False where another variant does as well: of the segments that leave a vector of so many bytes
/// whole, only the finest takes part; and channels only where each still carries something, as
/// below a few KiB a message costs the same however short it is.
bool makes_a_difference(const Variant& variant, std::span<const Variant> all, Bytes vector);

}  // namespace tutti
