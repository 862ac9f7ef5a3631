// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/foreign_algorithms.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "collectives/baselines/nccl_choice.hpp"

namespace tutti {
namespace {

using enum Collective;
using enum ForeignAlgorithm::Trait;
constexpr ForeignLibrary ompi = ForeignLibrary::open_mpi, han = ForeignLibrary::open_mpi_han,
                         mpich = ForeignLibrary::mpich, ucc = ForeignLibrary::ucc,
                         ccl = ForeignLibrary::oneccl, intel = ForeignLibrary::intel_mpi,
                         nccl = ForeignLibrary::nccl, mscclpp = ForeignLibrary::mscclpp,
                         engine = ForeignLibrary::engine;

constexpr ForeignAlgorithm rows[] = {
    // Open MPI: numbers of coll_tuned_*_algorithm.
    {ompi, all_reduce, "1", "basic-linear", "linear"},
    {ompi, all_reduce, "2", "nonoverlapping"},
    {ompi, all_reduce, "3", "recursive-doubling", "butterfly"},
    {ompi, all_reduce, "4", "ring", "ring", reorders},
    {ompi, all_reduce, "5", "segmented-ring", "", reorders},
    {ompi, all_reduce, "6", "rabenseifner", "halving-doubling"},
    {ompi, all_reduce, "7", "allgather-reduce", "", reorders, 6},
    {ompi, reduce_scatter, "1", "basic-linear", "linear"},
    {ompi, reduce_scatter, "2", "recursive-doubling"},
    {ompi, reduce_scatter, "3", "recursive-halving", "butterfly"},
    {ompi, reduce_scatter, "4", "butterfly"},
    {ompi, all_gather, "1", "linear", "linear"},
    {ompi, all_gather, "2", "bruck", "bruck"},
    {ompi, all_gather, "3", "recursive-doubling", "butterfly"},
    {ompi, all_gather, "4", "ring", "ring"},
    {ompi, all_gather, "5", "neighbor"},
    {ompi, all_gather, "6", "two-proc"},
    {ompi, all_gather, "7", "sparbit", "sparbit", none, 5},
    {ompi, all_gather, "2", "bruck-k-fanout", "", none, 6},
    {ompi, all_gather, "8", "direct-messaging", "one-shot", none, 6},
    {ompi, broadcast, "1", "basic-linear", "linear"},
    {ompi, broadcast, "2", "chain"},
    {ompi, broadcast, "3", "pipeline", "chain"},
    {ompi, broadcast, "4", "split-binary-tree"},
    {ompi, broadcast, "5", "binary-tree", "k-ary-tree"},
    {ompi, broadcast, "6", "binomial", "tree"},
    {ompi, broadcast, "7", "knomial"},
    {ompi, broadcast, "8", "scatter-allgather", "butterfly"},
    {ompi, broadcast, "9", "scatter-allgather-ring", "scatter-ring"},
    {ompi, reduce, "1", "linear", "linear"},
    {ompi, reduce, "2", "chain", "", reorders},
    {ompi, reduce, "3", "pipeline", "chain", reorders},
    {ompi, reduce, "4", "binary", "k-ary-tree", reorders},
    {ompi, reduce, "5", "binomial", "tree", reorders},
    {ompi, reduce, "6", "in-order-binary"},
    {ompi, reduce, "7", "rabenseifner", "butterfly"},
    {ompi, reduce, "8", "knomial", "", reorders, 6},
    {ompi, scatter, "1", "basic-linear", "linear"},
    {ompi, scatter, "2", "binomial", "tree"},
    {ompi, scatter, "3", "linear-nb"},
    {ompi, gather, "1", "basic-linear", "linear"},
    {ompi, gather, "2", "binomial", "tree"},
    {ompi, gather, "3", "linear-sync"},
    {ompi, all_to_all, "1", "linear", "linear"},
    {ompi, all_to_all, "2", "pairwise", "round-robin"},
    {ompi, all_to_all, "3", "modified-bruck", "bruck"},
    {ompi, all_to_all, "4", "linear-sync"},
    {ompi, all_to_all, "5", "two-proc"},
    {ompi, barrier, "1", "linear", "linear"},
    {ompi, barrier, "2", "double-ring"},
    {ompi, barrier, "3", "recursive-doubling", "butterfly"},
    {ompi, barrier, "4", "bruck", "dissemination"},
    {ompi, barrier, "5", "two-proc"},
    {ompi, barrier, "6", "tree", "tree"},
    {ompi, scan, "1", "linear"},
    {ompi, scan, "2", "recursive-doubling", "doubling"},
    {ompi, exscan, "1", "linear"},
    {ompi, exscan, "2", "recursive-doubling", "doubling"},

    // Open MPI's HAN from version 5 on: a component, and HAN's algorithm.
    {han, all_reduce, "tuned", "tuned"},
    {han, all_reduce, "han @simple", "han-simple", "two-level"},
    {han, all_reduce, "han @intra", "han-intra"},
    {han, all_reduce, "han @reproducible", "han-reproducible"},
    {han, all_gather, "tuned", "tuned"},
    {han, all_gather, "han @simple", "han-simple", "two-level"},
    {han, all_gather, "han @intra", "han-intra"},
    {han, broadcast, "tuned", "tuned"},
    {han, broadcast, "han @simple", "han-simple", "two-level"},
    {han, broadcast, "han @intra", "han-intra"},
    {han, reduce, "tuned", "tuned"},
    {han, reduce, "han @simple", "han-simple", "two-level"},
    {han, reduce, "han @intra", "han-intra"},
    {han, reduce, "han @reproducible", "han-reproducible"},
    {han, scatter, "tuned", "tuned"},
    {han, scatter, "han @simple", "han-simple", "two-level"},
    {han, scatter, "han @intra", "han-intra"},
    {han, gather, "tuned", "tuned"},
    {han, gather, "han @simple", "han-simple", "two-level"},
    {han, gather, "han @intra", "han-intra"},
    {han, barrier, "tuned", "tuned"},
    {han, barrier, "han @simple", "han-simple", "two-level"},
    {han, all_to_all, "tuned", "tuned"},
    {han, all_to_all, "han @smsc", "han-smsc"},

    // MPICH: ends of MPIR_Allreduce_intra_...; what every version since 4.0 has. The file guards
    // those that reorder.
    {mpich, all_reduce, "recursive_doubling", "recursive-doubling", "butterfly"},
    {mpich, all_reduce, "reduce_scatter_allgather", "reduce-scatter-allgather", "halving-doubling"},
    {mpich, broadcast, "binomial", "binomial", "tree"},
    {mpich, broadcast, "scatter_recursive_doubling_allgather",
     "scatter-recursive-doubling-allgather", "butterfly"},
    {mpich, broadcast, "scatter_ring_allgather", "scatter-ring-allgather", "scatter-ring"},
    {mpich, all_gather, "brucks", "brucks", "bruck"},
    {mpich, all_gather, "recursive_doubling", "recursive-doubling", "butterfly",
     needs_power_of_two},
    {mpich, all_gather, "ring", "ring", "ring"},
    {mpich, all_to_all, "brucks", "brucks", "bruck"},
    {mpich, all_to_all, "pairwise", "pairwise", "round-robin"},
    {mpich, all_to_all, "scattered", "scattered", "linear"},
    {mpich, reduce, "binomial", "binomial", "tree"},
    {mpich, reduce, "reduce_scatter_gather", "reduce-scatter-gather", "butterfly"},
    {mpich, reduce_scatter, "pairwise", "pairwise", "round-robin"},
    {mpich, reduce_scatter, "recursive_doubling", "recursive-doubling"},
    {mpich, reduce_scatter, "recursive_halving", "recursive-halving", "butterfly"},

    // UCC: names of TL/UCP. The last number is the minor version of UCC 1 that introduced the
    // algorithm, if after 1.4. The radix stays UCC's own.
    {ucc, all_reduce, "knomial", "knomial", "butterfly", any_radix},
    {ucc, all_reduce, "sra_knomial", "sra-knomial", "halving-doubling"},
    {ucc, all_reduce, "dbt", "dbt", "double-tree"},
    {ucc, all_reduce, "ring", "ring", "ring", none, 8},
    {ucc, all_gather, "knomial", "knomial", "butterfly"},
    {ucc, all_gather, "ring", "ring", "ring"},
    {ucc, all_gather, "neighbor", "neighbor"},
    {ucc, all_gather, "bruck", "bruck", "bruck"},
    {ucc, all_gather, "sparbit", "sparbit", "sparbit"},
    {ucc, all_gather, "linear", "linear", "one-shot", none, 5},
    {ucc, all_gather, "batched", "batched", "", none, 5},
    {ucc, broadcast, "knomial", "knomial", "tree", any_radix},
    {ucc, broadcast, "sag_knomial", "sag-knomial", "butterfly"},
    {ucc, broadcast, "dbt", "dbt", "double-tree"},
    {ucc, all_to_all, "pairwise", "pairwise", "round-robin"},
    {ucc, all_to_all, "bruck", "bruck", "bruck"},
    {ucc, reduce, "knomial", "knomial", "tree", any_radix},
    {ucc, reduce, "dbt", "dbt", "double-tree"},
    {ucc, reduce, "srg", "srg", "butterfly"},
    {ucc, reduce_scatter, "ring", "ring", "ring"},
    {ucc, reduce_scatter, "knomial", "knomial", "butterfly"},

    {ccl, all_reduce, "recursive_doubling", "", "butterfly"},
    {ccl, all_reduce, "rabenseifner", "", "halving-doubling"},
    {ccl, all_reduce, "ring", "", "ring"},

    // Intel MPI: numbers of I_MPI_ADJUST_*.
    {intel, all_reduce, "1", "", "butterfly"},
    {intel, all_reduce, "2", "", "halving-doubling"},
    {intel, all_reduce, "8", "", "ring"},
    {intel, broadcast, "1", "", "tree"},
    {intel, reduce, "2", "", "tree"},
    {intel, reduce, "5", "", "butterfly"},
    {intel, barrier, "1", "", "dissemination"},
    {intel, barrier, "2", "", "butterfly"},

    // NCCL: names in the CSV file of its example plugin.
    {nccl, all_reduce, "ring", "ring", "ring"},
    {nccl, all_reduce, "tree", "tree", "double-tree"},
    {nccl, all_reduce, "collnet_direct", "collnet-direct"},
    {nccl, all_reduce, "collnet_chain", "collnet-chain"},
    {nccl, all_reduce, "nvls", "nvls"},
    {nccl, all_reduce, "nvls_tree", "nvls-tree"},
    {nccl, all_gather, "ring", "ring", "ring"},
    {nccl, all_gather, "collnet_direct", "collnet-direct"},
    {nccl, all_gather, "nvls", "nvls"},
    {nccl, all_gather, "pat", "pat", "pat"},
    {nccl, reduce_scatter, "ring", "ring", "ring"},
    {nccl, reduce_scatter, "collnet_direct", "collnet-direct"},
    {nccl, reduce_scatter, "nvls", "nvls"},
    {nccl, reduce_scatter, "pat", "pat", "pat"},
    {nccl, broadcast, "ring", "ring", "chain"},
    {nccl, reduce, "ring", "ring", "chain"},

    {mscclpp, all_reduce, "default_allreduce_allpair_packet", "", "one-shot"},
    {mscclpp, all_reduce, "default_allreduce_packet", "", "two-shot"},
    {mscclpp, all_gather, "default_allgather_fullmesh", "", "one-shot"},

    {engine, all_reduce, "one_shot", "", "one-shot"},
    {engine, all_reduce, "two_shot", "", "two-shot"},
    {engine, all_gather, "one_shot", "", "one-shot"},
    {engine, reduce_scatter, "one_shot", "", "one-shot"},
};

// Whether the row stands for that radix: tutti's default is 2.
bool has_radix_of(const ForeignAlgorithm& row, int radix) {
    return row.trait == any_radix || radix == 0 || radix == 2;
}

// Returns the name without protocol and channels.
std::string name_in_nccl(const Configuration& choice) {
    return to_string(NcclChoice{.algorithm = parse_nccl_choice(choice.algorithm).algorithm});
}

}  // namespace

std::string_view baseline_of(ForeignLibrary library) {
    switch (library) {
        case nccl:
            return "nccl";
        case ucc:
            return "ucc";
        default:
            return "mpi";
    }
}

const ForeignAlgorithm* foreign_algorithm(ForeignLibrary library, Collective collective,
                                          const Configuration& choice, int version) {
    if (choice.is_ours() ? choice.channels != 1 || !choice.order.empty() : choice.algorithm.empty())
        return nullptr;
    if (!choice.is_ours() && choice.impl != baseline_of(library)) return nullptr;
    const std::string own = choice.impl == "nccl" ? name_in_nccl(choice) : choice.algorithm;
    const auto is_meant = [&](const ForeignAlgorithm& row) {
        if (row.library != library || row.collective != collective ||
            (version != 0 && version < row.since))
            return false;
        if (!choice.is_ours()) return row.baseline == own;
        return row.ours == choice.algorithm && has_radix_of(row, choice.radix);
    };
    const auto* found = std::ranges::find_if(rows, is_meant);
    return found == std::end(rows) ? nullptr : found;
}

std::span<const ForeignAlgorithm> foreign_algorithms() { return rows; }

}  // namespace tutti
