// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <vector>

#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/schedule.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The cost of a schedule in its chunks, counted without running it.
struct Counts {
    int steps = 0;               ///< steps in which data moves between ranks
    std::vector<long> sent;      ///< chunks that each rank sends to others
    std::vector<long> received;  ///< chunks that each rank receives from others
    long transfers = 0;          ///< runs of chunks that move between ranks
    /// Messages between ranks: what a rank sends to another in a step is one, unless the schedule
    /// has a transfer to a third rank in between.
    long messages = 0;
    int chunks_per_vector = 1;  ///< chunks that make up one rank's vector

    long most_sent() const;
    long most_received() const;
    /// Returns the vectors that the busiest rank sends or receives, whichever is more.
    double busiest() const;
};

/// Throws Error for more than `most_transfers`; counting 300 million takes about 5 s.
Counts count(const Schedule& schedule, const CollectiveSpec& spec,
             long most_transfers = std::numeric_limits<long>::max());

/// The minimum for any algorithm if a rank sends and receives one message at a time (Chan,
/// Heimlich, Purkayastha, van de Geijn 2007).
struct LowerBound {
    int steps = 0;
    double busiest = 0;  ///< vectors that the busiest rank sends or receives
};

LowerBound lower_bound(Collective collective, int ranks);

}  // namespace tutti
#pragma GCC visibility pop
