// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/records/point.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/bench/sweep.hpp"

namespace tutti {

/// A call of a sweep.
struct SweptCall {
    Call call;
    std::int64_t count = 0;  ///< elements of a block on average, for records
    std::string blocks;      ///< the rule for the lengths of blocks; empty: equal lengths
    std::shared_ptr<const BlockLengths> lengths;  ///< of the call, which points to them
};

/// Identifies a point without the candidate: all candidates are compared there.
struct CommonPoint {
    const SweptCall& swept;
    bool in_place;
    BufferKind kind;
};

/// Kinds of buffers as the keys of points call them.
inline constexpr Named<BufferKind> kinds_in_keys[] = {{BufferKind::registered, "registered"},
                                                      {BufferKind::unregistered, "host"},
                                                      {BufferKind::mapped, "mapped"},
                                                      {BufferKind::device, "cuda"},
                                                      {BufferKind::pinned, "pinned"}};

/// A candidate's operation for a call, and how it is measured.
struct CandidateTrial {
    ChosenOperation chosen;
    Trial trial;
};

/// The calls of a sweep, size by size, as its table shows them. Throws Error if the given lengths
/// of blocks do not fit the ranks.
std::vector<SweptCall> calls_of(const Sweep& sweep, int ranks);

/// The candidates and points of a sweep. Planner and sweep outlive it. All calls except blank_point
/// and fill are collective.
class SweepPoints {
public:
    SweepPoints(Planner& planner, const Sweep& sweep);

    /// Memory for any of the calls, of the kinds that the sweep asks for; see BufferPool.
    BufferPool pool_for(std::span<const SweptCall> calls, BufferOffsets offsets = {}) const;

    /// A point that is still to be measured.
    Point blank_point(const Candidate& candidate, const CommonPoint& common) const;

    /// Returns why the candidate is not measured: rank 0's reason, on all ranks. If only another
    /// rank has a reason, all throw it, because rank 0's table must not report the point as
    /// skipped.
    std::optional<std::string> reason_to_skip(const Candidate& candidate, const CommonPoint& common,
                                              const PooledBuffers& buffers) const;

    CandidateTrial trial_at(const Candidate& candidate, const CommonPoint& common,
                            const PooledBuffers& buffers) const;

    void fill(Point& point, const Measured& measured) const;

    /// Measures the operation by level, see level_shares().
    std::vector<LevelShare> levels_of(Operation& operation, const Call& call,
                                      const std::function<void()>& before_call,
                                      std::int64_t ns_of_call) const;

    /// Only the receiving rank sees that a message was not received.
    void agree_on_failures(std::vector<Point>& points) const;

private:
    std::vector<BufferKind> kinds() const;
    std::vector<std::string> transports() const;
    std::int64_t calls_of_run(const Candidate& candidate) const;
    std::string placement_name(const Candidate& candidate) const;

    Planner& planner_;
    World& world_;
    const Sweep& sweep_;
};

}  // namespace tutti
