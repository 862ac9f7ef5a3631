// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/faults.hpp"

namespace tutti {

/// One row of the table of transports.
struct TransportRow {
    std::string_view name;
    std::string_view what;  ///< one sentence
    /// Why this build lacks it; nothing if it is there.
    std::optional<std::string> (*missing)();
    /// Why these ranks cannot use it; nothing if they can. Collective.
    std::optional<std::string> (*refuses)(World&);
    /// Collective.
    std::unique_ptr<Transport> (*open)(World&, const std::optional<Fault>&);
    /// It is one of several methods of another row, which takes the best of them: tried only when
    /// named.
    bool is_part = false;
    /// Its plans run on devices: memory of theirs is registered memory for it, any other is copied.
    bool on_device = false;
    /// Its messages go between devices: it takes memory of theirs alone.
    bool between_devices = false;
};

/// The one place where transports are listed.
std::span<const TransportRow> transports();

/// Throws Error naming the known ones.
const TransportRow& find_transport(std::string_view name);

}  // namespace tutti
