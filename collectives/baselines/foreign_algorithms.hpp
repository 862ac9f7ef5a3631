// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "base/configuration.hpp"
#include "base/types.hpp"

namespace tutti {

/// Libraries for which tables are exported.
enum class ForeignLibrary {
    open_mpi,
    open_mpi_han,
    mpich,
    ucc,
    oneccl,
    intel_mpi,
    nccl,
    mscclpp,
    engine
};

/// Returns the baseline whose calls are those of the library.
std::string_view baseline_of(ForeignLibrary library);

/// An algorithm of such a library.
struct ForeignAlgorithm {
    ForeignLibrary library;
    Collective collective;
    std::string_view id;  ///< number or name in the library's file
    /// Its name as a baseline ("mpi/NAME", "ucc/NAME"); empty: no baseline has it.
    std::string_view baseline;
    std::string_view ours = {};  ///< tutti's algorithm that does the same; empty: none
    /// `any_radix`: it stands for tutti's algorithm with any radix. `reorders`: it adds in another
    /// order than that of the ranks, wrong for operations that do not commute.
    enum class Trait { none, any_radix, reorders, needs_power_of_two };
    Trait trait = Trait::none;
    int since = 0;  ///< the first major version that has it; for UCC, the minor version of UCC 1
};

/// Returns the algorithm of the library that a choice means: the baseline's own, or the namesake of
/// tutti's. Returns null if that version has none; version 0 has those of all versions.
const ForeignAlgorithm* foreign_algorithm(ForeignLibrary library, Collective collective,
                                          const Configuration& choice, int version = 0);

/// The only list of algorithms of other libraries.
std::span<const ForeignAlgorithm> foreign_algorithms();

}  // namespace tutti
