// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/open_file.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/protocol.hpp"

namespace tutti {

/// Rank 0's side of a rendezvous: accepts the connections of the other ranks, once each has shown
/// that it belongs to this job. Other connections get the reason and are closed.
class RendezvousServer {
public:
    struct Expected {
        int size = 1;
        std::uint64_t job = 0;
        std::string where = {};  ///< for messages: "tcp://node3:29500"
    };

    /// Takes over a listening socket.
    RendezvousServer(OpenFile listening, Expected expected);

    int port() const;

    /// Returns the connections of ranks 1, 2, ... once all ranks have joined, and notifies them.
    /// Throws Error (time_out) after the deadline, naming the missing and the refused ranks; the
    /// ranks that have joined are notified, too.
    std::vector<OpenFile> all_connections(double deadline_seconds);

private:
    // A connection that has not yet identified itself.
    struct PendingConnection {
        OpenFile socket;
        std::string from;
        std::int64_t since_ns;
        Hello hello = {};
        std::size_t received = 0;
    };
    struct Member {
        OpenFile socket;
        std::string from;
        int process;
    };

    void accept_all();
    void read_hellos();
    void forget_ended();
    bool read_hello(PendingConnection& pending);
    void admit(PendingConnection& pending);
    std::optional<std::string> refusal_of(const Hello& hello) const;
    void sleep_until_something_comes() const;
    [[noreturn]] void give_up(double deadline_seconds);

    OpenFile listening_;
    Expected expected_;
    std::list<PendingConnection> pending_;
    std::vector<std::optional<Member>> members_;  // by rank; none for rank 0
    int missing_;
    int refused_ = 0;
    std::string last_refusal_;
};

/// Joins a rendezvous from a rank other than 0; returns the connection to rank 0 once all ranks
/// have joined. Retries until the deadline. Throws Error: time_out, or usage with rank 0's reason
/// if it refuses this rank.
OpenFile join_rank0(const TcpAddress& address, const Hello& hello, double deadline_seconds);

}  // namespace tutti
