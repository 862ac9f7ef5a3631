// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace tutti {

/// An algorithm of UCC's component TL/UCP.
struct UccAlgorithm {
    Collective collective;
    std::string_view name;     ///< as UCC spells it in UCC_TL_UCP_TUNE
    unsigned since_minor = 0;  ///< the first minor version of UCC 1 that has it, if after 1.4
};

/// The algorithms that can be forced. UCC has at most one for the other collectives.
inline constexpr UccAlgorithm ucc_algorithm_rows[] = {
    {Collective::all_reduce, "knomial"},
    {Collective::all_reduce, "sra_knomial"},
    {Collective::all_reduce, "dbt"},
    {Collective::all_reduce, "ring", 8},
    {Collective::reduce_scatter, "ring"},
    {Collective::reduce_scatter, "knomial"},
    {Collective::all_gather, "knomial"},
    {Collective::all_gather, "ring"},
    {Collective::all_gather, "neighbor"},
    {Collective::all_gather, "bruck"},
    {Collective::all_gather, "sparbit"},
    {Collective::all_gather, "linear", 5},
    {Collective::all_gather, "batched", 5},
    {Collective::broadcast, "knomial"},
    {Collective::broadcast, "sag_knomial"},
    {Collective::broadcast, "dbt"},
    {Collective::reduce, "knomial"},
    {Collective::reduce, "dbt"},
    {Collective::reduce, "srg"},
    {Collective::all_to_all, "pairwise"},
    {Collective::all_to_all, "bruck"},
};

/// Returns the algorithm's name as a baseline: "sra_knomial" is "sra-knomial".
inline std::string in_kebab_case(std::string_view name) {
    std::string text(name);
    std::ranges::replace(text, '_', '-');
    return text;
}

}  // namespace tutti
