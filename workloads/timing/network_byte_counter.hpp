// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/records/point.hpp"
#include "topology/detect/interface_bytes.hpp"

namespace tutti {

/// Counts what the interfaces of each host move during timed calls, by the kernel's own counters:
/// payload, headers, acknowledgements, and what the start of the calls takes. The leaders of hosts
/// read them before and after a batch, never within. On one host nothing is counted.
class NetworkByteCounter {
public:
    explicit NetworkByteCounter(World& world);

    /// Before a batch and behind it. Collective: all calls are over when the counters are read, and
    /// nobody goes on before they are.
    void begin();
    void end(std::int64_t calls);

    void forget();

    /// Of the host with the most bytes a call, in the busier direction; none on one host, and
    /// before any call, and where no counter can be read. Collective; the same on all ranks.
    std::optional<NetworkBytes> busiest();

private:
    void add(const std::vector<InterfaceBytes>& interfaces);

    World& world_;
    bool is_leader_;
    std::vector<InterfaceBytes> before_;
    std::vector<InterfaceBytes> sums_;
    std::int64_t calls_ = 0;
};

}  // namespace tutti
