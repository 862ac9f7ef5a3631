// SPDX-License-Identifier: Apache-2.0
// Short sweeps by ranks that are threads.
#pragma once
#include <optional>
#include <vector>

#include "workloads/bench/sweep.hpp"

namespace tutti {

inline Sweep sweep_of(Collective collective, const SearchSpace& search_space) {
    Sweep sweep;
    sweep.collective = collective;
    sweep.candidates = candidates(collective, search_space);
    sweep.counts = {10};
    sweep.protocol.fixed_samples = 2;
    sweep.protocol.warm_up_calls = 0;
    return sweep;
}

// Returns the points on rank 0, size by size.
inline std::vector<std::vector<Point>> points_of_run(const Sweep& sweep, int ranks,
                                                     std::optional<Fault> fault = {}) {
    std::vector<std::vector<Point>> all;
    run_as_threads(ranks, 60, [&](World& world) {
        Planner planner(world, fault);
        SweepEvents events;
        if (world.is_first())
            events.after_point = [&](const std::vector<Point>& points) { all.push_back(points); };
        run_sweep(planner, sweep, events);
    });
    return all;
}

}  // namespace tutti
