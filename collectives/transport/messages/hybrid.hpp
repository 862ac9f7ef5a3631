// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Sends each message by the nearest way: through shared memory to ranks of the same host, by
/// messages over the network to the others. These are UCX's if it works on all ranks, else MPI's;
/// between threads, which only tests place on several hosts, those of the loopback. Its
/// construction and destruction are collective; throws the same Error on all ranks if a way fails.
std::unique_ptr<MessageTransport> hybrid_transport(World& world);

/// Does the same with MPI's messages between hosts.
std::unique_ptr<MessageTransport> hybrid_over_mpi(World& world);

/// Returns why these ranks cannot use one of them, or gain nothing by it: they need several hosts,
/// one of which has several ranks. The same on all ranks. Collective.
std::optional<std::string> hybrid_refuses(World& world);
std::optional<std::string> hybrid_over_mpi_refuses(World& world);

}  // namespace tutti
