// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "autotune/tuner/tuner.hpp"

namespace tutti {

/// A subject with the type and operation that stand for it.
struct TuneTask {
    Subject subject;
    DataType type;
    Op op;
};

std::vector<TuneTask> tasks_of(const TuneRequest& request, const std::vector<BufferKind>& kinds);

/// Room on the pool for all calls of a request.
std::size_t most_bytes(const TuneRequest& request, int ranks);

/// The library by its own choice, if it is among the candidates; else null.
const Candidate* library_in(const std::vector<Candidate>& all);

/// An equal part of what is left of the budget, by rank 0's clock. Collective.
double share_of(World& world, std::int64_t began_ns, double budget, std::size_t tasks_left);

}  // namespace tutti
