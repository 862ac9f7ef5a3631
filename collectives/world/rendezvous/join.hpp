// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/open_file.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/handshake.hpp"

namespace tutti {

/// Joins a rendezvous from a rank other than 0; returns the connection to rank 0 once all ranks
/// have joined. Retries until the deadline. Throws Error: time_out, or usage with rank 0's reason
/// if it refuses this rank.
OpenFile join_rank0(const TcpAddress& address, const Hello& hello, double deadline_seconds);

}  // namespace tutti
