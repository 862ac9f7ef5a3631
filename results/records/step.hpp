// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/records/point.hpp"

namespace tutti {

/// Identifies a training step with its collectives done by one method. Two steps
/// compare if their keys are equal but for the method.
struct StepKey {
    std::string workload;   // ddp, train, replay, ...
    std::string model;      // or the trace's or the network's name
    std::string compute;    // sleep, burn, real; empty: the workload's own computing
    std::string buffers;    // registered, unregistered, mapped, pinned, device; empty: registered
                            // where that is possible
    std::string settings;   // other parameters: "bucket-cap=5M scale=0.1"
    std::string placement;  // same as in a point's key: virtual ranks share a GPU
    std::string method;     // "ring/shm", "auto", "mpi", "mpi-nonblocking", "sharded servers"
    int nranks = 1;
    int ppn = 1;             // ranks on each host
    std::int64_t bytes = 0;  // that the busiest rank hands to collectives in a step
    std::int64_t calls = 0;  // collectives of that rank in a step

    auto operator<=>(const StepKey&) const = default;
};

/// Something that only one workload measures: "accuracy", "mean_staleness", "bubble_share".
struct Metric {
    std::string name;
    double value = 0;

    bool operator==(const Metric&) const = default;
};

/// The samples of a method, round by round, as in the summaries of a step. ns.
struct StepSamples {
    std::vector<std::int64_t> step;
    std::vector<std::int64_t> compute;
    std::vector<std::int64_t> exposed;
    // With steps that are to be gone on with; older files lack them.
    std::vector<std::int64_t> communication = {}, computing = {}, wait = {}, work = {};

    bool operator==(const StepSamples&) const = default;
};

/// A step by one method in one launch. Times in ns, of the slowest rank.
struct TrainingStep {
    std::string session;
    int launch = 1;
    StepKey key;
    std::optional<std::string> skipped;  // the reason; then nothing below has a meaning
    bool is_partial = false;  // written while rounds were still to come; a later record replaces it

    Summary step;           // computing and communicating
    Summary compute;        // the same step without its collectives
    Summary communication;  // its collectives without the computing
    Summary exposed;        // step less compute, each round's own: what is not hidden
    Summary computing;      // within the step: longer than compute where communication takes cores
    Summary wait;           // in collectives for the last rank to arrive, mean of the ranks
    Summary work;           // in collectives from then on
    double overlap = 0;     // 1 - exposed / communication: 1 is all hidden; may be negative
    double slowdown = 1;    // computing / compute
    double bound_ns = 0;    // max(compute, communication): no overlap does better
    Check check;
    std::vector<Metric> metrics;
    std::optional<StepSamples> samples = {};  // if they were asked for, or the step is partial

    bool operator==(const TrainingStep&) const = default;
};

/// A step by one method over several launches. Its summaries are of their medians, so that the
/// intervals are those between launches.
struct StepOverLaunches {
    int launches = 0;
    TrainingStep step;

    bool operator==(const StepOverLaunches&) const = default;
};

/// Fills in what follows from the summaries.
void derive(TrainingStep& step);

/// Returns half the interval of the exposed time, divided by the step (the exposed time may be 0).
/// Infinite if the step has no interval.
double half_width_of_exposed(const TrainingStep& step);

/// Whether the intervals of the two exposed times do not overlap.
bool exposed_differs(const TrainingStep& one, const TrainingStep& other);

}  // namespace tutti
