// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/rendezvous.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/hashes.hpp"
#include "base/source.hpp"
#include "collectives/world/rendezvous/address.hpp"
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

namespace {

constexpr const char* options = "for tutti: --rendezvous tcp://HOST:PORT --rank R --size N";

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

std::string text_of(const char* variable, const char* whose) {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text == '\0')
        throw Error(std::string(variable) + " is not set, but " + whose +
                    " sets it; set it, or name address, rank and size (" + options + ")");
    return text;
}

int number_of(const char* variable, const char* whose) {
    const std::string text = text_of(variable, whose);
    const auto number = number_in<int>(text);
    if (!number) throw Error(std::string(variable) + "=" + text + " is not a number");
    return *number;
}

// Returns the first host of a SLURM list: node003 for "node[003-007,9],login1".
std::string first_host(const std::string& list) {
    const auto bracket = list.find('['), comma = list.find(',');
    if (bracket == list.npos || comma < bracket) return list.substr(0, comma);
    const auto end = list.find_first_of("-,]", bracket);
    const auto closing = list.find(']', bracket);
    if (end == list.npos || closing == list.npos) return list;
    const auto next_comma = list.find(',', closing);
    return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
           list.substr(closing + 1,
                       next_comma == list.npos ? next_comma : next_comma - closing - 1);
}

Rendezvous of_torchrun() {
    constexpr const char* whose = "torchrun";
    int port = number_of("MASTER_PORT", whose);
    // The agent of torchrun listens at the given port to serve its store: use the next one.
    const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
    if (agent != nullptr && std::strcmp(agent, "True") == 0) ++port;
    const char* job = std::getenv("TORCHELASTIC_RUN_ID");
    return {.address = to_string(TcpAddress{text_of("MASTER_ADDR", whose), port}),
            .rank = number_of("RANK", whose),
            .size = number_of("WORLD_SIZE", whose),
            .job = job != nullptr ? job : ""};
}

Rendezvous of_slurm() {
    constexpr const char* whose = "srun";
    const int job = number_of("SLURM_JOB_ID", whose), step = number_of("SLURM_STEP_ID", whose);
    // Each step of each job gets its own port, outside the range that systems assign.
    const int port = 20000 + (job * 16 + step % 16) % 12000;
    const char* list = is_set("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    return {.address = to_string(TcpAddress{first_host(text_of(list, whose)), port}),
            .rank = number_of("SLURM_PROCID", whose),
            .size = number_of("SLURM_NTASKS", whose),
            .job = std::to_string(job) + "." + std::to_string(step)};
}

}  // namespace

Rendezvous rendezvous_from_environment() {
    if (is_set("WORLD_SIZE") || is_set("MASTER_ADDR")) return of_torchrun();
    if (is_set("SLURM_PROCID")) return of_slurm();
    throw Error(
        std::string("neither torchrun nor srun started this process (no MASTER_ADDR, no "
                    "SLURM_PROCID in the environment); start it by one of them, or name address, "
                    "rank and size (") +
        options + ")");
}

}  // namespace tutti
