// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/process_world.hpp"

namespace tutti {

/// Messages of any length from one rank to another, over a TCP connection for each direction, which
/// the first message makes. Several threads may send and receive at the same time.
class PeerMessages {
public:
    /// Collective. The world must outlive it.
    explicit PeerMessages(ProcessWorld& world);
    PeerMessages(const PeerMessages&) = delete;
    PeerMessages& operator=(const PeerMessages&) = delete;

    /// Returns once `data` may be changed. Throws Error: time_out after the world's hang timeout,
    /// rank_lost if the other has ended, usage for a rank that is not another one of these.
    void send(std::span<const std::byte> data, Rank to, int tag);
    /// The next message of this tag. Throws as send(), and usage if its length is another.
    void receive(std::span<std::byte> data, Rank from, int tag);

private:
    using Message = std::vector<std::byte>;
    struct Outgoing {
        std::mutex mutex;
        std::optional<OpenFile> socket;
    };
    struct Incoming {
        std::mutex mutex;
        std::optional<OpenFile> socket;
        std::map<int, std::deque<Message>> early;  // of other tags than were asked for, by tag
    };
    class Wait;

    void expect_other_rank(Rank rank) const;
    void accept_from(Incoming& incoming, Rank rank, Wait& wait);
    void accept_one();
    void send_all(int socket, std::span<const std::byte> bytes, Wait& wait);
    void receive_all(int socket, std::span<std::byte> bytes, Wait& wait);

    ProcessWorld& world_;
    OpenFile listening_;
    std::vector<TcpAddress> addresses_;  // by rank
    std::vector<std::uint64_t> tokens_;  // by rank: who knows it belongs to these ranks
    std::vector<Outgoing> outgoing_;
    std::vector<Incoming> incoming_;
    std::mutex accepting_;
    std::map<int, OpenFile> accepted_;  // that nobody has waited for yet, by rank
};

}  // namespace tutti
