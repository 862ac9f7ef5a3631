// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/records/point.hpp"
#include "topology/meters/energy_meters.hpp"

namespace tutti {

/// The energy meters of all hosts of a launch: each host's first rank opens its own, once.
class HostMeters {
public:
    /// Collective.
    explicit HostMeters(World& world, const std::filesystem::path& root = meters_root());

    /// Whether there is a meter on any host; the same on all ranks.
    bool any() const { return least_period_ns_ > 0; }

    /// Of this host; none on ranks that are not the first of one.
    const EnergyMeters* mine() const { return mine_ ? &*mine_ : nullptr; }

    /// The meters that a batch of this length is long enough for change at least so often; 0: there
    /// is none. The same on all ranks.
    std::int64_t most_period_ns(std::int64_t batch_ns) const;

private:
    std::optional<EnergyMeters> mine_;
    std::int64_t least_period_ns_ = 0;  // of the meter of any host that changes most often
};

/// The energy of one candidate's timed calls. Meters are read before and after a batch, never
/// within, and only where a batch is so long that their steps do not matter.
class EnergyCounter {
public:
    /// `meters` may be null: then nothing is counted.
    EnergyCounter(World& world, const HostMeters* meters) : world_(world), meters_(meters) {}

    /// Before a batch of about this length and behind it. Collective, where there are meters for
    /// it: all calls are over when they are read, and nobody goes on before that.
    void begin(std::int64_t expected_ns);
    void end(std::int64_t calls);

    void forget() { sums_.clear(); }

    /// Writes the energy of a call and the power of each meter into `measured`, as far as the calls
    /// took long enough. Collective, where there are meters; the same on all ranks.
    void put_into(Measured& measured) const;

private:
    struct Sum {
        std::int64_t uj = 0, ns = 0, calls = 0;
    };

    World& world_;
    const HostMeters* meters_;
    std::int64_t period_ns_ = 0;  // of the batch under way; 0: it is not counted
    std::int64_t began_ns_ = 0;
    std::vector<std::optional<std::int64_t>> before_;
    std::vector<Sum> sums_;  // by meter of this host
};

}  // namespace tutti
