// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Parses "2x4" (two hosts with four ranks each) or the host of each rank ("a,a,b"), and returns
/// the number of each rank's host. Throws Error for no ranks or more than `most`.
std::vector<int> hosts_of_ranks(const std::string& text, int most);

/// Ranks on hosts. Transfers go through memory within a host, and by message to other hosts.
class Ways {
public:
    explicit Ways(std::vector<int> host_of_rank) : host_of_rank_(std::move(host_of_rank)) {}

    int ranks() const { return static_cast<int>(host_of_rank_.size()); }
    Placement hosts() const { return Placement::by_label(host_of_rank_); }
    bool is_by_message(const Transfer& transfer) const;
    /// Names the ways: "memory" and "message".
    WayOf names() const;

private:
    std::vector<int> host_of_rank_;
};

/// Counts the transfers and the data of each way, and compares what crosses between hosts with the
/// least that any algorithm sends. One line each.
std::string describe_ways(const Ways& ways, const Schedule& schedule, const CollectiveSpec& spec);

}  // namespace tutti
