// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"
#include "collectives/baselines/nccl_choice.hpp"

namespace tutti {

/// The ranks and hosts of one of NCCL's communicators.
struct NcclRanks {
    int ranks = 1, hosts = 1;
};

/// NCCL's algorithms for the calls of a communicator, by a tuning table. The same table gives the
/// same choices on every rank.
class TunerChoices {
public:
    /// Takes the measured choices for these ranks, in memory of devices, on the topology that
    /// begins with `topology`. Throws Error if the table has none, or several topologies.
    TunerChoices(const Table& table, NcclRanks ranks, const std::string& topology);

    /// Returns the choice for a call of `bytes` (as total_bytes counts them): NCCL's own if the
    /// table has no evidence.
    NcclChoice at(Collective collective, Bytes bytes) const noexcept;

    /// Returns "all_reduce 512 to 2M, all_gather 4K to 1M".
    std::string covered() const;
    /// Returns the table's choices that are not an algorithm of NCCL. NCCL chooses there.
    const std::vector<std::string>& left_to_nccl() const { return left_to_nccl_; }

private:
    struct Sizes {
        Bytes from, end;
        NcclChoice choice;
    };
    std::map<Collective, std::vector<Sizes>> sizes_;  // ascending
    std::vector<std::string> left_to_nccl_;
};

/// NCCL's estimates for one call: its costs by algorithm, then protocol. NCCL takes the least one
/// that is not negative; negative ones are not possible.
struct CostTable {
    std::span<float> costs;
    int protocols = 0;

    /// Makes the choice the least one. Returns false, and changes nothing, if NCCL cannot use it.
    bool prefer(const NcclChoice& choice) const noexcept;
};

}  // namespace tutti
