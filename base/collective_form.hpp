// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace tutti {

/// A collective as commands name it: `all_gather_v` is an all_gather whose blocks have lengths of
/// their own, as in MPI_Allgatherv. Both have the same algorithms.
struct CollectiveForm {
    Collective collective = Collective::all_reduce;
    bool has_lengths = false;

    bool operator==(const CollectiveForm&) const = default;
};

/// Whether a call moves one block for each rank or pair, so that their lengths can differ.
bool has_blocks(Collective collective);

/// Returns "all_gather", or "all_gather_v" if the blocks have lengths of their own.
std::string name_of(const CollectiveForm& form);

/// Throws Error with the known names if `text` is not one.
CollectiveForm parse_collective_form(std::string_view text);

/// Returns all collectives, then those with lengths.
std::span<const CollectiveForm> all_collective_forms();

}  // namespace tutti
