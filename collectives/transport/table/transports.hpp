// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/faults.hpp"
#include "collectives/transport/gpu/device_transport.hpp"
#include "collectives/transport/transfer_method.hpp"

namespace tutti {

/// Holds what ranks have of a transport that they opened; null: its methods need none.
struct OpenTransport {
    std::unique_ptr<MessageTransport> messages = {};
    std::unique_ptr<DevicePlaces> devices = {};
    TransferMethods unusable = {};  ///< methods of its row that these ranks cannot use
};

/// One row of the table of transports.
struct TransportRow {
    std::string_view name;
    std::string_view what;  ///< one sentence
    /// Returns why this build lacks it; nothing if it is available. Null: each build has it.
    std::optional<std::string> (*build_lacks)();
    /// Returns why these ranks cannot use it; nothing if they can. Collective.
    std::optional<std::string> (*refuses)(World&);
    /// Collective.
    OpenTransport (*open)(World&, const std::optional<Fault>&);
    TransferMethods methods = {TransferMethod::messages};
    /// It is one of several methods of another row, which picks the best of them: used only when
    /// named.
    bool is_part = false;
    /// Its messages go between devices, in the order of their queues: it moves only device memory,
    /// and lanes have no effect.
    bool between_devices = false;
    /// On devices: the largest vector that is sent in lines.
    Bytes device_lines_up_to = {};
    /// Returns the size up to which the library sends a message by one link of the host, and above
    /// which it divides messages among all, see World::links. Null: none, e.g. because tutti
    /// divides them itself.
    Bytes (*by_one_link_up_to)() = nullptr;

    std::optional<std::string> missing() const {
        return build_lacks == nullptr ? std::nullopt : build_lacks();
    }
};

/// The one place where transports are listed.
std::span<const TransportRow> transports();

/// Throws Error that names the known transports.
const TransportRow& find_transport(std::string_view name);

}  // namespace tutti
