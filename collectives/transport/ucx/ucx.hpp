// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Returns why this build has no UCX, and how to get it; nothing if it has.
std::optional<std::string> ucx_missing();

/// The ranks that a UCX transport reaches. Without those of this host, it needs less time and
/// memory: UCX then opens no shared memory.
enum class UcxReach { all_ranks, other_hosts };

/// Returns why UCX cannot join these ranks; nothing if it can. The same on all ranks. Collective.
std::optional<std::string> ucx_refuses(World& world, UcxReach reach = UcxReach::all_ranks);

/// Tagged messages of UCX's protocol layer (UCP) over its own context, worker and endpoints. After
/// the loss of a peer, the next poll of an endpoint throws Error (rank_lost) with the peer's rank.
/// Its construction and destruction are collective.
std::unique_ptr<MessageTransport> ucx_transport(World& world, UcxReach reach = UcxReach::all_ranks);

/// Returns the library's version, e.g. "1.13.1"; "none" without it.
std::string ucx_version();

}  // namespace tutti
