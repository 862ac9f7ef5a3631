// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/records/point.hpp"
#include "topology/detect/interface_bytes.hpp"
#include "topology/meters/energy_meters.hpp"

namespace tutti {

/// The energy meters of all hosts of a launch: each host's first rank opens them once.
class HostMeters {
public:
    /// Collective.
    explicit HostMeters(World& world, const std::filesystem::path& root = meters_root());

    /// Returns whether there is a meter on any host; the same on all ranks.
    bool any() const { return least_period_ns_ > 0; }

    /// Returns the meters of this host; null on ranks that are not the first of a host.
    const EnergyMeters* mine() const { return mine_ ? &*mine_ : nullptr; }

    /// Returns the longest period between changes that a meter may have in a batch of this length;
    /// 0: the batch is too short for all meters. The same on all ranks.
    std::int64_t most_period_ns(std::int64_t batch_ns) const;

private:
    std::optional<EnergyMeters> mine_;
    std::int64_t least_period_ns_ = 0;  // the shortest period of any meter on any host
};

/// The energy of one candidate's timed calls. Meters are read before and after a batch, never
/// within, and only if their resolution does not matter for a batch of this length.
class EnergyCounter {
public:
    /// `meters` may be null: then nothing is counted.
    EnergyCounter(World& world, const HostMeters* meters) : world_(world), meters_(meters) {}

    /// Called before a batch of about this length and after it. Collective, if there are meters for
    /// it: all calls have ended when the meters are read, and no rank continues before that.
    void begin(std::int64_t expected_ns);
    void end(std::int64_t calls);

    void forget() { sums_.clear(); }

    /// Writes the energy of a call and the power of each meter into `measured`, if the calls took
    /// long enough. Collective, if there are meters; the same on all ranks.
    void put_into(Measured& measured) const;

private:
    struct Sum {
        std::int64_t uj = 0, ns = 0, calls = 0;
    };

    World& world_;
    const HostMeters* meters_;
    std::int64_t period_ns_ = 0;  // period in the current batch; 0: it is not counted
    std::int64_t began_ns_ = 0;
    std::vector<std::optional<std::int64_t>> before_;
    std::vector<Sum> sums_;  // by meter of this host
};

/// Counts the bytes that the interfaces of each host move during timed calls, by the kernel's
/// counters: payload, headers, acknowledgements, and messages for the start of the calls. The
/// leaders of hosts read them before and after a batch, never within. On one host nothing is
/// counted.
class NetworkByteCounter {
public:
    /// Only tests pass another `root`, with made-up counters.
    explicit NetworkByteCounter(World& world, std::filesystem::path root = "/");

    /// Called before and after a batch. Collective: all calls have ended when the counters are
    /// read, and no rank continues before that.
    void begin();
    void end(std::int64_t calls);

    void forget();

    /// Returns the bytes of the host with the most bytes a call, in its busier direction; none on
    /// one host, before any call, and if no counter can be read. Collective; the same on all ranks.
    std::optional<NetworkBytes> busiest();

private:
    void add(const std::vector<InterfaceBytes>& interfaces);

    World& world_;
    std::filesystem::path root_;
    bool is_leader_;
    std::vector<InterfaceBytes> before_;
    std::vector<InterfaceBytes> sums_;
    std::int64_t calls_ = 0;
};

}  // namespace tutti
