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

/// Messages of any length between two ranks, over one TCP connection per direction, made by the
/// first message. Several threads may send and receive at the same time.
class PeerMessages {
public:
    /// Collective. The world must outlive it.
    explicit PeerMessages(ProcessWorld& world);
    PeerMessages(const PeerMessages&) = delete;
    PeerMessages& operator=(const PeerMessages&) = delete;

    /// Sends a message; returns once `data` may be changed. Throws Error: time_out after the
    /// world's hang timeout, rank_lost if the peer has ended, usage if `to` is not another rank.
    /// After a time_out the call may be repeated, unless part of the message had moved: then all
    /// later messages in this direction are refused (rank_lost).
    void send(std::span<const std::byte> data, Rank to, int tag);
    /// Receives the next message with this tag. Throws as send(), and usage if its length differs.
    void receive(std::span<std::byte> data, Rank from, int tag);

private:
    using Message = std::vector<std::byte>;
    struct Line {
        std::mutex mutex;
        std::optional<OpenFile> socket;
        bool is_cut = false;  // within a message
    };
    struct Incoming : Line {
        // Messages with other tags than requested, by tag.
        std::map<int, std::deque<Message>> early;
    };
    class Wait;

    void expect_other_rank(Rank rank) const;
    bool connect(Line& outgoing, Rank to);
    void accept_from(Incoming& incoming, Rank rank, Wait& wait);
    bool has_accepted(Incoming& incoming, Rank rank);
    bool accept_one();
    bool has_ended(Rank rank);
    template <class Move>
    static void move_whole(Line& line, Wait& wait, Move&& move);
    void send_all(int socket, std::span<const std::byte> bytes, Wait& wait);
    void receive_all(int socket, std::span<std::byte> bytes, Wait& wait);

    ProcessWorld& world_;
    OpenFile listening_;
    std::vector<TcpAddress> addresses_;  // by rank
    std::vector<std::uint64_t> tokens_;  // by rank; a peer shows that of the rank it connects to
    std::vector<Line> outgoing_;
    std::vector<Incoming> incoming_;
    std::mutex accepting_;
    std::map<int, OpenFile> accepted_;  // not yet requested, by rank
};

}  // namespace tutti
