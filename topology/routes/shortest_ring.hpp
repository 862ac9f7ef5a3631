// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "topology/routes/ring_search.hpp"
#include "topology/routes/simplex.hpp"

namespace tutti {

/// The closed rings of a task over the edges that these may pass, which are its rows.
class PricedRings {
public:
    /// `routes` and `task` outlive this.
    PricedRings(const HostRoutes& routes, const PackingTask& task);

    int rows() const { return static_cast<int>(row_of_.size()); }

    /// What one GB/s of the ring takes, as shares of the edges' capacities.
    Simplex::Column column_of(const HostChannel& ring) const;
    static double cost_of(const Simplex::Column& column, const std::vector<double>& prices);

    /// The ring that costs least where each row has a price (Held & Karp 1962); none where the legs
    /// make no ring. It takes work() steps.
    std::optional<HostChannel> cheapest(const std::vector<double>& prices) const;
    std::int64_t work() const;

private:
    std::vector<double> costs_of_legs(const std::vector<double>& prices) const;

    const HostRoutes& routes_;
    const PackingTask& task_;
    std::map<int, int> row_of_;  // of an edge
};

}  // namespace tutti
