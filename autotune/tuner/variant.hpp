// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "autotune/choice/configuration.hpp"
#include "autotune/search/evaluator.hpp"
#include "workloads/bench/candidates.hpp"

namespace tutti {

/// One of those that race: as it is run, as it is written down, and as the search knows it.
struct Variant {
    Candidate candidate;
    Configuration configuration;
    Arm arm;
};

Configuration configuration_of(const Candidate& candidate);

/// Candidates of the same algorithm over the same transport are a family; each parameter's levels
/// are its values among the candidates of all families, ascending.
std::vector<Variant> variants_of(const std::vector<Candidate>& candidates);

/// Channels are worth trying only where each still carries something: below a few KiB a message
/// costs the same however short it is.
bool carries_enough(const Variant& variant, Bytes vector);

}  // namespace tutti
