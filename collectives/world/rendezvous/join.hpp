// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/open_file.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/handshake.hpp"

namespace tutti {

/// The other ranks' side of a rendezvous: a connection to rank 0, which all ranks have by then.
/// Tries until so many seconds have passed. Throws Error: time_out, or usage with rank 0's words if
/// it refuses this rank.
OpenFile join_rank0(const TcpAddress& address, const Hello& hello, double deadline_seconds);

}  // namespace tutti
