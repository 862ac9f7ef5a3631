// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/schedule.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The result of following every rank's shares through a schedule.
struct Proof {
    /// Describes the first fault, e.g. "step 3: rank 2 adds rank 5's share of chunk 1 a second
    /// time". Empty if every rank ends with exactly what the collective specifies, and no rank
    /// receives a finished chunk that it starts with. A broadcast's root may send from read-only
    /// memory, so it must not receive its message back.
    std::optional<std::string> fault;

    /// Every rank that ends with a block added it up in the same order (a + b counts as b + a, as
    /// in IEEE arithmetic), so all copies of a result are equal bit for bit. True for moved data.
    bool same_order_everywhere = true;

    /// Chunks sent in a step in which their sender also overwrites them: the read races with the
    /// write unless the sender keeps both the old and the new value, as the executors do.
    long overwritten_while_read = 0;
};

/// Proves a schedule symbolically, without buffers: each (rank, chunk) holds an expression over
/// ranks' shares. Reads the schedule step by step; memory is one number per rank and chunk, plus
/// the distinct partial sums.
Proof prove(const Schedule& schedule, const CollectiveSpec& spec);

/// Proves a schedule that begins with the data that `start` specifies and ends with those of `end`,
/// which has the same number of blocks. Ranks may begin with more than the collective gives them:
/// every rank of a broadcast has something in its buffer, but none of it may be in the result.
Proof prove(const Schedule& schedule, const CollectiveSpec& start, const CollectiveSpec& end);

/// Returns prove(...).fault.
std::optional<std::string> find_fault(const Schedule& schedule, const CollectiveSpec& spec);

}  // namespace tutti
#pragma GCC visibility pop
