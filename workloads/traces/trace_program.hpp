// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/traces/trace.hpp"

namespace tutti {

/// A recorded data-parallel step on any number of ranks: rank r has the times of recorded rank r
/// modulo their number; step k those of iteration k modulo theirs. The buckets are the recorded
/// ones or others of the same parameters.
Program program_of(const GradientTrace& trace, const std::string& name,
                   std::span<const Bucket> buckets, int ranks);

/// What a step of ops is, and what was done about what cannot be done as it was.
struct OpsProgram {
    Program program;
    /// Uneven all_to_all is done as an even one of its largest part; so much more is handed over,
    /// by all ranks together.
    std::int64_t padding_bytes = 0;
};

/// The k-th collectives of a group's members are one; so are the k-th send and receive of a pair,
/// which are a broadcast among two. What is waited for is what was; the rest at the end of the
/// step. Throws Error, with the places in the trace, where ranks do not fit together.
OpsProgram program_of(const OpsTrace& trace, const std::string& name);

/// All times so many times as long.
void stretch(Program& program, double factor);

/// The step so many times in a row, as one step; times go on as they would step by step.
Program repeated(const Program& program, int times);

}  // namespace tutti
