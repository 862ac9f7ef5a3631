// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "results/records/reader.hpp"

namespace tutti {

/// The points and steps that are wanted; empty lists want all.
struct Selection {
    /// "ring", "ring/shm", "shm", "mpi", "mpi/ring", "mpi/default"; of steps a part of the method.
    std::vector<std::string> candidates;
    struct Range {
        Bytes first, last;  ///< both included
    };
    std::vector<Range> sizes;
};

/// "8", "4K..1M", "1M.." or "..4K". Throws Error for anything else.
Selection::Range parse_size_range(const std::string& text);

/// Leaves only what is selected. Throws Error if nothing is left.
void select(Results& results, const Selection& selection);

}  // namespace tutti
