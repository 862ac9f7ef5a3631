// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/faults.hpp"

namespace tutti {

/// Messages between ranks that are threads of one process. A send is finished when the receiver has
/// copied the data (no buffering at all, the strictest a schedule can meet). Injects `fault`.
std::unique_ptr<MessageTransport> loopback_transport(World& world, std::optional<Fault> fault = {});

}  // namespace tutti
