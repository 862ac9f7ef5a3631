// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "autotune/search/search.hpp"
#include "autotune/table/table.hpp"
#include "autotune/tuner/tuner.hpp"

namespace tutti {

/// A subject with a type and an operation of its classes, which is measured.
struct TuneTask {
    Subject subject;
    DataType type;
    Op op;
};

std::vector<TuneTask> tasks_of(const TuneRequest& request, const std::vector<BufferKind>& kinds);

/// Returns the memory of the pool for all calls of a request.
std::size_t most_bytes(const TuneRequest& request, int ranks);

/// Returns the library with its own choice, if it is among the candidates; else null.
const Candidate* library_in(const std::vector<Candidate>& all);

/// A task with the work of its search relative to others: its number of candidates, of which
/// all_reduce has seven times as many as scatter.
struct WeighedTask {
    TuneTask task;
    double work = 0;
};

/// Orders tasks by their work. What the first ones leave of their time goes to the longer ones.
std::vector<WeighedTask> shortest_first(const std::vector<TuneTask>& tasks,
                                        const SearchSpace& search_space);

/// Returns this share of the remaining budget, by rank 0's clock. Collective.
double share_of(World& world, std::int64_t began_ns, double budget, double share);

/// Converts the findings of a search to ranges of a table, with the evidence at each size.
/// Neighbours share a choice if it costs less than `hysteresis`.
std::vector<Range> ranges_found(std::span<const Finding> findings,
                                const std::function<const Configuration&(int arm)>& configuration,
                                double hysteresis);

}  // namespace tutti
