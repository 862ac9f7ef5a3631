// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/faults.hpp"

namespace tutti {

/// Moves messages between ranks that are threads of one process. A send completes when the receiver
/// has copied the data (no buffering at all, the strictest case for a schedule). Injects `fault`.
std::unique_ptr<MessageTransport> loopback_transport(World& world, std::optional<Fault> fault = {});

}  // namespace tutti
