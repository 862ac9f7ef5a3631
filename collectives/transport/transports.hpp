// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/transport/faults.hpp"
#include "collectives/transport/wire.hpp"

namespace tutti {

/// Peers' memory is read in place, without messages: see execute/direct_plan.
class DirectTransport final : public Transport {
public:
    std::string_view name() const override { return "shm"; }
};

/// One row of the table of ways to move bytes.
struct TransportRow {
    std::string_view name;
    std::string_view what;  ///< one sentence
    /// Why this build lacks it; nothing if it is there.
    std::optional<std::string> (*missing)();
    /// Why these ranks cannot use it; nothing if they can. Collective.
    std::optional<std::string> (*refuses)(World&);
    /// Collective.
    std::unique_ptr<Transport> (*open)(World&, const std::optional<Fault>&);
};

/// The one place where transports are listed.
std::span<const TransportRow> transports();

/// Throws Error naming the known ones.
const TransportRow& find_transport(std::string_view name);

}  // namespace tutti
