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
    /// Returns why this build lacks it; nothing if it is available.
    std::optional<std::string> (*missing)();
    /// Returns why these ranks cannot use it; nothing if they can. Collective.
    std::optional<std::string> (*refuses)(World&);
    /// Collective.
    std::unique_ptr<Transport> (*open)(World&, const std::optional<Fault>&);
    /// It is one of several methods of another row, which picks the best of them: used only when
    /// named.
    bool is_part = false;
    /// Its plans run on devices: device memory is registered memory for it, and any other is
    /// copied.
    bool on_device = false;
    /// Its messages go between devices: it moves only device memory.
    bool between_devices = false;
};

/// The one place where transports are listed.
std::span<const TransportRow> transports();

/// Throws Error that names the known transports.
const TransportRow& find_transport(std::string_view name);

}  // namespace tutti
