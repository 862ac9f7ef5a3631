// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "workloads/traces/trace.hpp"

namespace tutti {

/// A step of a trace of ops as a program.
struct OpsProgram {
    Program program;
    /// Bytes that all ranks together send beyond the trace: an uneven all_to_all is done as an even
    /// one of its largest part.
    std::int64_t padding_bytes = 0;
};

/// The k-th collectives of a group's members match, and the k-th send and receive of a pair, which
/// become a broadcast in a group of two. Calls that the trace does not wait for end with the step.
/// Throws Error with the places in the trace where ranks do not match.
OpsProgram program_of(const OpsTrace& trace, const std::string& name);

}  // namespace tutti
