// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/crossing.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Parses the place of each rank: "2x4" (two hosts with four ranks each), the host of each rank
/// ("a,a,b"), the parts of each level and the ranks in each of the smallest
/// ("host:64,package:2,rank:96"), or the file of a machine that ranks fill ("h100.xml"), in several
/// copies ("64xh100.xml"). Throws Error for no ranks or more than `most`.
Placement parse_placement(const std::string& text, int most);

/// Ranks on hosts. Transfers go through memory within a host, and by message to other hosts.
class Ways {
public:
    explicit Ways(Placement placement);

    int ranks() const { return static_cast<int>(host_of_rank_.size()); }
    const Placement& placement() const { return placement_; }
    bool is_by_message(const Transfer& transfer) const;
    /// Names the ways: "memory" and "message".
    WayOf names() const;

private:
    Placement placement_;
    std::vector<int> host_of_rank_;
};

/// Returns the groups between which describe_ways() needs counts: the parts of each level, hosts,
/// and each rank alone.
std::vector<RankGroups> groups_to_count(const Ways& ways);

/// Tells the transfers and the data of each way, and compares what crosses between hosts, and
/// between the parts of other levels, with the least that any algorithm sends. One line each.
std::string describe_ways(const Ways& ways, const CollectiveSpec& spec,
                          std::span<const Counts> counts);

}  // namespace tutti
