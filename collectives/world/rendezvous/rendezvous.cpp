// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/rendezvous.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/hashes.hpp"
#include "collectives/world/rendezvous/join.hpp"
#include "collectives/world/rendezvous/process_world.hpp"
#include "collectives/world/rendezvous/server.hpp"

namespace tutti {
namespace {

// A program's own socket may be blocking, and may be inherited by processes that it starts.
OpenFile taken_over(int socket) {
    if (socket >= 0) {
        fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
        fcntl(socket, F_SETFD, FD_CLOEXEC);
    }
    return OpenFile{socket};
}

}  // namespace

std::unique_ptr<World> rendezvous_world(const Rendezvous& rendezvous) {
    const auto& [text, rank, size, job, deadline, listening] = rendezvous;
    if (size < 1 || rank < 0 || rank >= size)
        throw Error("there is no rank " + std::to_string(rank) + " of " + std::to_string(size) +
                    "; ranks are 0 to size - 1");
    OpenFile socket = taken_over(listening);  // owned from here on, also on errors
    const TcpAddress address = parse_tcp_address(text);
    std::vector<OpenFile> connections;
    const std::uint64_t job_id = fnv1a(std::as_bytes(std::span(job)));
    if (size > 1 && address.port == 0 && listening < 0)
        throw Error(text + " has no port; use one that is free on the host of rank 0, e.g. " +
                    to_string({address.host, 29500}));
    if (size > 1 && rank == 0) {
        RendezvousServer server(listening >= 0 ? std::move(socket) : listen_at(address),
                                {.size = size, .job = job_id, .where = text});
        connections = server.all_connections(deadline);
    } else if (size > 1) {
        connections.push_back(join_rank0(
            address, {.rank = rank, .size = size, .process = getpid(), .job = job_id}, deadline));
    }
    return std::make_unique<ProcessWorld>(Rank{rank}, size, std::move(connections), deadline);
}

}  // namespace tutti
