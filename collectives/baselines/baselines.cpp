// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/baselines.hpp"

#include "base/name_table.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {
namespace {

std::vector<std::string> no_algorithms(Collective) { return {}; }
std::optional<std::int64_t> no_value(Collective, std::string_view, const Knob&) {
    return std::nullopt;
}

const Baseline rows[] = {
    {"mpi",
     "the MPI library's own collective (MPI_Allreduce, ...); mpi/ring forces one of its "
     "algorithms, mpi/all tries every one",
     mpi_missing, allow_forced_mpi_algorithms, mpi_algorithms, own_value_of_mpi,
     mpi_baseline_refuses, mpi_baseline, restore_mpi_settings},
    {"mpi-nonblocking",
     "the MPI library's non-blocking collective (MPI_Iallreduce, ...), polled with MPI_Test",
     mpi_missing, [] {}, no_algorithms, no_value, mpi_baseline_refuses, mpi_nonblocking, [] {},
     /*is_default=*/false,
     /*blocks=*/false},
    {"nccl",
     "NCCL's own collective (ncclAllReduce, ...) on GPU memory, one rank per GPU; "
     "collectives that NCCL lacks are one group of ncclSend and ncclRecv; nccl/tree-ll128-4 forces "
     "an algorithm, protocol and number of channels, nccl/all tries every one",
     nccl_missing, allow_forced_nccl_algorithms, nccl_algorithm_names, no_value,
     nccl_baseline_refuses, nccl_baseline, [] {},
     /*is_default=*/true, /*blocks=*/false,
     /*takes_device=*/true, nccl_choice_of},
    {"nccl-other",
     "the NCCL of --other-nccl, for example of another version, next to the one that tutti is "
     "linked with",
     other_nccl_missing, allow_forced_other_nccl_algorithms, nccl_algorithm_names, no_value,
     other_nccl_refuses, other_nccl_baseline, [] {},
     /*is_default=*/false, /*blocks=*/false,
     /*takes_device=*/true, nccl_choice_of},
    {"ucc",
     "UCC's own collective on host memory; ucc/knomial forces an algorithm of its component "
     "TL/UCP, ucc/all tries every one",
     ucc_missing, [] {}, ucc_algorithms, no_value, ucc_baseline_refuses, ucc_baseline, [] {},
     /*is_default=*/false, /*blocks=*/false},
};

}  // namespace

std::span<const Baseline> baselines() { return rows; }

std::optional<std::string> refusal(World& world, const Baseline& baseline,
                                   const LibraryCall& call) {
    if (auto missing = missing_on_any(world, baseline.missing())) return missing;
    return baseline.refuses(world, call);
}

const Baseline& find_baseline(std::string_view name) {
    return find_row(rows, "baseline", name, {"none"});
}

}  // namespace tutti
