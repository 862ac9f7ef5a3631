// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "results/records/limits.hpp"
#include "results/records/point.hpp"
#include "workloads/bench/block_rules.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/timing/measure.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// A sweep over sizes, types, operations and roots, with all candidates at each.
struct Sweep {
    Collective collective = Collective::all_reduce;
    std::vector<Candidate> candidates;
    std::vector<std::int64_t> counts;  ///< elements as Call counts them; or from sizes
    std::vector<Bytes> sizes;          ///< used where counts is empty: see count_for
    /// Rules for the lengths of blocks, each for all sizes; without counts and sizes, those of
    /// given counts as they are. Empty: all blocks have equal lengths.
    std::vector<BlockRule> blocks;
    std::vector<DataType> types{DataType::float32};
    std::vector<Op> ops{Op::sum};
    std::vector<Rank> roots{Rank{0}};
    std::vector<bool> in_place{false};
    std::vector<BufferKind> buffers;  ///< empty: registered where ranks can share memory
    InputState input = InputState::untouched;
    bool check = true;
    Environment environment;
    int ranks_per_node = 0;    ///< of `environment.hosts`, for the record; 0: as launched
    int ranks_per_island = 0;  ///< the same of the islands
    Protocol protocol;
    /// Each candidate is measured without and with each of them.
    std::vector<Disturbance> disturbances;
    std::optional<Limits> limits;  ///< of these hosts, for comparison
    /// A model's predicted time of a candidate, in ns; empty: no model.
    std::function<std::optional<double>(const Candidate&, const Call&, BufferKind)> predict;
    /// On rank 0: what an interrupted run has measured; empty: nothing.
    std::vector<Point> known;
    double budget_seconds = 0;  ///< for all trials, which may shorten protocol.max_seconds; 0: none
};

/// One that was measured at a point, its operation still warm.
struct MeasuredCandidate {
    const Candidate& candidate;
    const Key& key;
    const Call& call;
    const PooledBuffers& buffers;
    Operation& operation;
};

/// Callbacks during a sweep. If a callback throws Error on one rank, run_sweep throws it on all.
struct SweepEvents {
    std::function<void(const std::string& what)> before_point = [](const auto&) {};
    /// The same of points that were measured before, which lie on rank 0 only.
    std::function<void(const std::vector<Point>&)> known_point = [](const auto&) {};
    /// Each candidate that was measured, before its after_point. Collective; it may call the
    /// operation and overwrite the buffers.
    std::function<void(const MeasuredCandidate&)> after_candidate = [](const auto&) {};
    /// All candidates of one size, measured; in the order of the candidates, in place last, and
    /// so for one aggressor and one kind of buffers after the other, first without an aggressor.
    std::function<void(const std::vector<Point>&)> after_point = [](const auto&) {};
};

/// Runs the sweep. Collective; the events are called on every rank, with the same points. Throws
/// Error on all ranks alike.
void run_sweep(Planner& planner, const Sweep& sweep, const SweepEvents& events);

/// Measures the sweep's trials in turn with those of another job, whose side keeps the times.
/// Collective; throws the same Error on all ranks.
void run_sweep_by_turns(Planner& planner, const Sweep& sweep, Turns& turns);

}  // namespace tutti
