// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/world/process_watch.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "collectives/world/rendezvous/protocol.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Ranks that are processes, connected as a star: each has a TCP connection to rank 0, which
/// gathers all data and sends it to all. A process that ends without a goodbye is detected wherever
/// a rank waits.
class ProcessWorld final : public World {
public:
    /// Rank 0 passes the connections of ranks 1, 2, ...; each other rank passes one, to rank 0.
    /// Collective.
    ProcessWorld(Rank rank, int size, std::vector<OpenFile> connections, double hang_timeout);
    ~ProcessWorld() override;

    Rank rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string_view kind() const override { return "processes"; }
    bool one_process() const override { return size_ == 1; }
    const Placement& hosts() const override { return hosts_; }

    void barrier() override;
    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    void broadcast(std::span<std::byte> data) override;
    void sleeping_barrier(double seconds) override;
    std::unique_ptr<World> split(std::optional<int> group) override;
    void throw_if_lost() override;

    /// Returns a socket at any free port that the other ranks can reach.
    OpenFile listen_for_ranks() const;
    /// Returns the address, as seen from this rank, of each rank that passes a port (0: none).
    /// Collective.
    std::vector<TcpAddress> addresses_of(int port_of_this_rank);

private:
    class Waiting;
    // A frame that is arriving from a rank, and the data after it.
    struct Incoming {
        Frame frame = {};
        std::size_t received = 0;  // bytes of frame and data
        bool is_complete = false;
    };

    void exchange(FrameKind kind, std::span<const std::byte> mine, std::span<std::byte> all,
                  Waiting& waiting);
    Frame frame_of(FrameKind kind, std::size_t bytes) const;
    bool advance(Incoming& incoming, FrameKind kind, Rank from, std::span<std::byte> into);
    std::size_t receive_some(Rank from, std::byte* into, std::size_t bytes);
    void receive(Rank from, std::span<std::byte> into, Waiting& waiting);
    void receive_answer(FrameKind kind, std::span<std::byte> into, Waiting& waiting);
    void send(Rank to, FrameKind kind, std::span<const std::byte> data, Waiting& waiting);
    void send_bytes(Rank to, std::span<const std::byte> bytes, int flags, Waiting& waiting);
    void notify(FrameKind kind, std::span<const Rank> ranks, Rank but) noexcept;
    void sleep_briefly(const Waiting& waiting);
    std::optional<FrameKind> next_kind(Rank from);
    void check_neighbours();
    bool grace_period_is_over();
    void throw_if_rank0_ends();
    std::vector<Rank> absent_ranks() const;
    std::vector<Rank> call_roll();
    std::vector<Rank> read_ranks();
    [[noreturn]] void give_up(const std::string& what, double times);
    [[noreturn]] void lose(Rank lost);
    [[noreturn]] void throw_lost(Rank lost);
    Error failed(Error error);
    int socket_to(Rank peer) const;

    Rank rank_;
    int size_;
    std::vector<OpenFile> connections_;
    Placement hosts_;
    std::optional<ProcessWatch> neighbours_;
    std::optional<std::int64_t> gone_since_;  // a neighbour, or rank 0
    std::vector<Incoming> incoming_;          // current exchange, by rank; on rank 0
    bool is_gathering_ = false;
    std::uint32_t call_ = 0;  // number of the current call
    bool has_failed_ = false;
    int unwinding_before_;
};

}  // namespace tutti
