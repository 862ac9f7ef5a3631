// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/configuration.hpp"
#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/plan.hpp"

namespace tutti {

/// A call of a library, by one of its algorithms.
struct LibraryCall {
    Call call;
    /// The library's name for it, in kebab-case; empty: its own choice.
    std::string algorithm = {};
    bool in_place = false;
    std::optional<BufferKind> buffers = BufferKind::unregistered;  ///< nullopt: any
    Bytes segment = {};  ///< of a forced algorithm; 0: as the library has it set
    int fan_out = 0;     ///< the same
};

/// A library's own collective, measured by the same loop as our plans.
struct Baseline {
    std::string_view name;
    std::string_view what;                    ///< one sentence
    std::optional<std::string> (*missing)();  ///< returns why this build lacks it
    /// Configures the library before it starts, so that its algorithms can be forced.
    void (*before_start)();
    /// Returns the algorithms that can be forced. None before the library has started, or if it has
    /// no names.
    std::vector<std::string> (*algorithms)(Collective);
    /// Returns the value that the library uses by itself, if a forced algorithm has such a
    /// parameter (the radix is its fan-out).
    std::optional<std::int64_t> (*own_value)(Collective, std::string_view algorithm, const Knob&);
    /// Returns why these ranks or this call cannot use it, although all ranks have it; nothing if
    /// they can. Collective.
    std::optional<std::string> (*refuses)(World&, const LibraryCall&);
    std::unique_ptr<Operation> (*make)(World&, const LibraryCall&, const CallBuffers&);
    /// Restores the library settings that the last call changed, as they would affect the program's
    /// own calls. Programs need this after each run, benchmarks do not.
    void (*restore)();
    bool is_default = true;  ///< included in "all"
    /// Starting it returns only when the call is done on this rank, so ranks that start two calls
    /// in different orders deadlock.
    bool blocks = true;
    bool takes_device = false;  ///< buffers on devices
    /// Returns which algorithm the library used for the operation, in words; empty if it does not
    /// tell, or if that is the forced one. Null: it never tells.
    std::string (*choice_of)(const Operation&) = nullptr;
};

/// Returns why these ranks or this call cannot use the library, including that some hosts lack it;
/// nothing if they can. Collective.
std::optional<std::string> refusal(World& world, const Baseline& baseline, const LibraryCall& call);

/// The only list of baselines.
std::span<const Baseline> baselines();

/// Throws Error that names the known baselines.
const Baseline& find_baseline(std::string_view name);

/// Lets Open MPI accept forced algorithms; call this before it starts. Calls without a forced
/// algorithm are not affected.
void allow_forced_mpi_algorithms();

/// Implements Baseline::restore for MPI.
void restore_mpi_settings();

/// Returns the names of the running MPI library's algorithms for the collective. None before MPI
/// runs.
std::vector<std::string> mpi_algorithms(Collective collective);

/// Returns the running MPI library's value of an algorithm's segment or fan-out; nothing if the
/// algorithm has no such parameter.
std::optional<std::int64_t> own_value_of_mpi(Collective collective, std::string_view algorithm,
                                             const Knob& knob);

/// Returns why MPI's own collective cannot be compared for this call: GPU memory, types that MPI
/// does not have, counts beyond its int, an algorithm that cannot be forced or would be replaced.
std::optional<std::string> mpi_baseline_refuses(World& world, const LibraryCall& call);

/// MPI_Allreduce, MPI_Bcast, ... on the world's own communicator with the library's own choice of
/// algorithm, or on a copy of it with a forced one. MPI has no `avg`: it is MPI's sum and a
/// division by tutti.
std::unique_ptr<Operation> mpi_baseline(World& world, const LibraryCall& call,
                                        const CallBuffers& buffers);

/// MPI_Iallreduce, MPI_Ibcast, ... and MPI_Test until they are done. Libraries have other
/// algorithms for these, without names.
std::unique_ptr<Operation> mpi_nonblocking(World& world, const LibraryCall& call,
                                           const CallBuffers& buffers);

/// Lets NCCL of a version before 2.31.2 load libtutti_nccl.so, which forces its algorithms, unless
/// the user has set another tuner. Call this before NCCL starts.
void allow_forced_nccl_algorithms();

/// Lets NCCL load libtutti_nccl.so, which tells what NCCL runs, unless the user has set another
/// profiler. Call this before NCCL starts.
void let_nccl_tell_choices();

/// Implements Baseline::choice_of for NCCL: "tree-ll128-4".
std::string nccl_choice_of(const Operation& operation);

/// Returns the names of NCCL's algorithms for the collective, with protocols and numbers of
/// channels (see parse_nccl_choice). Some of them need GPUs or networks that are not there.
std::vector<std::string> nccl_algorithm_names(Collective collective);

/// Returns why NCCL's own collective cannot be compared for this call: no GPU or several ranks on
/// one, host buffers, types that NCCL does not have, an all-to-all in place.
std::optional<std::string> nccl_baseline_refuses(World& world, const LibraryCall& call);

/// ncclAllReduce, ncclBroadcast, ... on the ranks' communicator; collectives without such a call
/// (all_to_all, scatter, gather) are one group of ncclSend and ncclRecv.
std::unique_ptr<Operation> nccl_baseline(World& world, const LibraryCall& call,
                                         const CallBuffers& buffers);

/// The same for the NCCL of load_other_nccl().
std::optional<std::string> other_nccl_missing();
void allow_forced_other_nccl_algorithms();
std::optional<std::string> other_nccl_refuses(World& world, const LibraryCall& call);
std::unique_ptr<Operation> other_nccl_baseline(World& world, const LibraryCall& call,
                                               const CallBuffers& buffers);

/// Returns why this build has no UCC, and how to get it; nothing if it has.
std::optional<std::string> ucc_missing();

/// Returns the library's name and version, e.g. "UCC 1.4.4"; "none" without UCC.
std::string ucc_library();

/// Returns the names of the algorithms of UCC's component TL/UCP that this version can force.
std::vector<std::string> ucc_algorithms(Collective collective);

/// Returns why UCC's own collective cannot be compared for this call: threads as ranks, GPU memory,
/// types that UCC does not combine, blocks in place, an algorithm that would be replaced.
std::optional<std::string> ucc_baseline_refuses(World& world, const LibraryCall& call);

/// UCC's collective of these ranks (ucc_collective_init, _post, _test, _finalize), as Open MPI and
/// PyTorch call it. There is a context and a team for each forced algorithm.
std::unique_ptr<Operation> ucc_baseline(World& world, const LibraryCall& call,
                                        const CallBuffers& buffers);

}  // namespace tutti
