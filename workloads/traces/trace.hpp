// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "base/types.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"
#include "workloads/steps/step_runner.hpp"

namespace tutti {

/// Gradients of a data-parallel program: when each became ready and what was sent, so that the
/// steps can be replayed with these or other buckets.
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
        std::vector<AllReduce> all_reduces;  ///< calls of the recorded system
    };

    DataType type = DataType::float32;
    std::vector<Parameter> parameters;
    std::vector<int> ready_order;  ///< indices into `parameters`, each once
    std::vector<Buffer> buffers;   ///< broadcast before each forward pass
    std::vector<Bucket> buckets;   ///< as recorded; empty if nothing was sent
    std::vector<Iteration> iterations;

    /// Returns the number of ranks with iterations.
    int recorded_ranks() const;
};

/// One action of a rank; actions are in the order of its thread.
struct TraceOp {
    enum class Kind : std::uint8_t { compute, collective, send, recv, wait };

    Kind kind = Kind::compute;
    std::int64_t id = -1;  ///< identifies it for dependent actions; -1: there are none
    std::string place;     ///< file and line, for error messages
    Task::Phase phase = Task::Phase::backward;
    /// Ids of actions that must have ended; wait: empty means all
    std::vector<std::int64_t> after;
    std::int64_t compute_ns = 0;
    Collective collective = Collective::all_reduce;
    DataType type = DataType::float32;
    int group = 0;           ///< index among OpsTrace::groups
    std::int64_t count = 0;  ///< as in Call; uneven all_to_all: total that this rank sends
    std::vector<std::int64_t> sends, receives;  ///< all_to_all, uneven: elements by peer
    Rank root = {0};                            ///< a rank of the whole trace
    Rank peer = {0};                            ///< send, recv: a rank of the whole trace
};

/// Actions of each rank of a program: computing, collectives, and their dependencies.
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

/// Reads a trace of any kind: tutti's as JSON Lines or as one JSON document (gradtrace/1), or one
/// of PARAM, PyTorch (execution trace, profiler, flight recorder), Chakra or NCCL. The latter have
/// a file for each rank: `typed` is then a folder, in which ranks are found by content or name, or
/// a list with commas in the order of ranks. Each file may be compressed by gzip. Throws Error, one
/// line with file and line, if a file is not a trace, is truncated or contradicts itself.
Trace read_trace(const std::string& typed);

/// A step of a trace of ops as a program.
struct OpsProgram {
    Program program;
    /// Bytes that all ranks together pass to collectives beyond the trace, if blocks are padded.
    std::int64_t padding_bytes = 0;
};

/// Matches the k-th collectives of a group's members, and the k-th send and receive of a pair,
/// which become a broadcast in a group of two. Calls that the trace does not wait for end with the
/// step. An all_to_all has the splits of its ranks; all_gather, reduce_scatter, gather and scatter
/// have the counts of their ranks, which may differ. Throws Error with the places in the trace
/// where ranks do not match.
OpsProgram program_of(const OpsTrace& trace, const std::string& name,
                      Blocks blocks = Blocks::exact);

/// Recorded gradients of one rank before averaging, from files next to the trace:
/// NAME.step<K>.bucket<I>.rank<R>.f32 (little-endian float32).
class RecordedGradients {
public:
    /// Reads the gradients of rank `rank` modulo the recorded ranks, in the recorded buckets.
    /// Throws Error naming a file whose size is not that of its bucket.
    RecordedGradients(const std::filesystem::path& trace, const GradientTrace& recorded, Rank rank);

    /// Returns the recorded steps; 0 if no gradients were recorded.
    std::int64_t steps() const { return static_cast<std::int64_t>(steps_.size()); }

    /// Copies the gradients of step `number` modulo the recorded steps into the inputs of the
    /// program's all-reduces, in their order, repeatedly if there is room.
    void load(const ProgramBuffers& buffers, std::int64_t number) const;

private:
    std::vector<std::vector<std::byte>> steps_;  // in the order of the buckets
};

}  // namespace tutti
