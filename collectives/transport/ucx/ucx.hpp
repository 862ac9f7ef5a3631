// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Why this build has no UCX, and how to get it; nothing if it has.
std::optional<std::string> ucx_missing();

/// Why UCX cannot join these ranks; nothing if it can. The same on all ranks. Collective.
std::optional<std::string> ucx_refuses(World& world);

/// Tagged messages of UCX's protocol layer (UCP) over a context, a worker and endpoints of its own.
/// A peer that is lost makes the next look at an endpoint throw Error (rank_lost) with the peer's
/// rank. Collective, and so is its end.
std::unique_ptr<MessageTransport> ucx_transport(World& world);

/// "1.13.1" as the library numbers itself; "none" without it.
std::string ucx_version();

}  // namespace tutti
