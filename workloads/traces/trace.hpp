// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/types.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"

namespace tutti {

/// A data-parallel program's gradients: when each became ready and what was sent, so that the steps
/// can be replayed with these buckets or with others.
struct GradientTrace {
    struct AllReduce {
        std::int64_t count = 0;
        std::int64_t start_ns = 0;  ///< since the backward pass began
        std::int64_t duration_ns = 0;
    };
    struct Iteration {
        int rank = 0;
        std::int64_t forward_ns = 0, backward_ns = 0, optimizer_ns = 0;
        std::vector<std::int64_t> ready_ns;  ///< since the backward pass began, in the ready order
        std::vector<AllReduce> all_reduces;  ///< as the recorded system did it
    };

    DataType type = DataType::float32;
    std::vector<Parameter> parameters;
    std::vector<int> ready_order;  ///< indices into `parameters`, each once
    std::vector<Buffer> buffers;   ///< broadcast before each forward pass
    std::vector<Bucket> buckets;   ///< as recorded; none where nothing was sent
    std::vector<Iteration> iterations;

    /// Ranks that it has iterations of: 0 and on.
    int recorded_ranks() const;
};

/// One thing that a rank did; in order, as its thread did it.
struct TraceOp {
    enum class Kind : std::uint8_t { compute, collective, barrier, send, recv, wait };

    Kind kind = Kind::compute;
    std::int64_t id = -1;  ///< by which others depend on it; -1: none does
    std::string place;     ///< file and line, for error messages
    Task::Phase phase = Task::Phase::backward;
    std::vector<std::int64_t> after;  ///< ids of what must be over; wait: none is everything
    std::int64_t compute_ns = 0;
    Collective collective = Collective::all_reduce;
    DataType type = DataType::float32;
    int group = 0;           ///< index among OpsTrace::groups
    std::int64_t count = 0;  ///< as in Call; uneven all_to_all: what this rank sends in all
    std::vector<std::int64_t> sends, receives;  ///< all_to_all, uneven: elements by peer
    Rank root = {0};                            ///< a rank of all
    Rank peer = {0};                            ///< send, recv: a rank of all
};

/// What each rank of any program did: computing, collectives, and what waited for what.
struct OpsTrace {
    std::vector<std::vector<Rank>> groups;    ///< sorted; the first is all ranks
    std::vector<std::vector<TraceOp>> ranks;  ///< by rank
};

/// A recorded program. A value without behaviour.
struct Trace {
    std::string model, source, licence, device, framework, note;
    int world = 0;  ///< ranks when it was recorded; 0: not known
    std::variant<GradientTrace, OpsTrace> what;
};

/// Reads a trace, whatever it is: ours as JSON Lines or as one JSON document (gradtrace/1), a PARAM
/// commsTraceReplay trace, or a Chakra execution trace as JSON. The latter two have a file for each
/// rank: `typed` is then a folder of them, whose names end in the rank, or a list with commas, in
/// the order of ranks. Throws Error, one line with file and line, for what is none, is cut off or
/// contradicts itself.
Trace read_trace(const std::string& typed);

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
