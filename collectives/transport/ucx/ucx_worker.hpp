// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/process_watch.hpp"
#include "collectives/world/world.hpp"

// UCX's own types; only the .cpp files use their contents.
struct ucp_context;
struct ucp_ep;
struct ucp_worker;

namespace tutti {

/// One rank's UCX objects: a context with the user's settings, a worker that moves its messages,
/// and an endpoint to every rank that it has communicated with.
class UcxWorker final : public Progressable {
public:
    /// Uses these network devices, in the format of UCX_NET_DEVICES. If empty, that variable
    /// decides; if it is unset, a rank uses cards of its NUMA node where that is possible, see
    /// near_devices(). Collective. Throws the same Error on all ranks if UCX does not work on one
    /// of them, or one cannot reach its neighbours.
    /// If not empty, the worker is on trial: until trust(), this rank does not fail if it loses
    /// another while it waits elsewhere.
    UcxWorker(World& world, UcxReach reach, const std::string& devices = "");
    /// Collective, unless the worker is on trial, this rank has given up, or an error unwinds it:
    /// then it leaves at once.
    ~UcxWorker();
    UcxWorker(const UcxWorker&) = delete;
    UcxWorker& operator=(const UcxWorker&) = delete;

    /// Ends the trial: its ranks reach each other.
    void trust() { is_on_trial_ = false; }

    const World& world() const { return world_; }
    ucp_worker* handle() const { return worker_; }
    /// Bytes that UCX needs before the address of a request.
    std::size_t request_bytes() const { return request_bytes_; }

    /// Makes the endpoint if there is none; throws Error (usage) if the peer cannot be reached.
    void connect(Rank peer);
    ucp_ep* endpoint(Rank peer) const { return of(peer).endpoint; }
    bool is_on_this_host(Rank peer) const { return of(peer).is_on_this_host; }

    /// Describes the lanes that UCX uses to the connected ranks: "; to rank 1 by posix/memory
    /// cma/memory". Ranks with the same lanes are listed together.
    std::string connections() const;

    /// Moves all messages; returns whether any moved.
    bool progress();
    /// Whether enough polls were idle that the rank should yield after each.
    bool should_yield() const { return idle_looks_ > looks_before_yield_; }
    /// Makes progress between plans. Also throws Error (rank_lost), because a lost rank will not
    /// arrive.
    void make_progress() override;

    /// Stores the first loss, with UCX's reason, for the next throw_if_lost().
    void lose(Rank peer, const char* why) {
        if (!lost_) lost_ = {peer, why};
    }
    void throw_if_lost() const {
        if (lost_) throw_lost();
    }

    /// Keeps memory that UCX may still write to. The worker then stays open until the process ends:
    /// it must move nothing any more, because the memory of the messages is freed.
    void keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }

private:
    struct Peer {
        UcxWorker* owner = nullptr;
        Rank rank;
        ucp_ep* endpoint = nullptr;
        bool is_on_this_host = false;
    };
    struct Loss {
        Rank peer;
        const char* why;
    };

    std::string open(UcxReach reach, const std::string& devices);
    void exchange(std::string refusal);
    void reach_neighbours(UcxReach reach);
    void close_endpoints();
    void watch_neighbours();
    void release();
    [[noreturn]] void throw_lost() const;
    const Peer& of(Rank peer) const { return at(peers_, peer); }
    Peer& of(Rank peer) { return at(peers_, peer); }

    World& world_;
    int unwinding_before_;
    ucp_context* context_ = nullptr;
    ucp_worker* worker_ = nullptr;
    std::size_t request_bytes_ = 0;
    std::vector<std::string> addresses_;
    std::vector<Peer> peers_;
    ProcessWatch neighbours_;
    std::optional<std::int64_t> gone_since_;
    long idle_looks_ = 0;
    bool is_on_trial_;
    bool is_leaving_ = false;
    bool is_in_trouble_ = false;  // this rank leaves without waiting for others
    long looks_before_yield_ = std::numeric_limits<long>::max();
    std::optional<Loss> lost_;
    std::vector<std::shared_ptr<void>> kept_;
};

/// Returns a network device for each IP network that all hosts share, to divide large messages
/// among them. Returns none, for no division, on one host, with UCX_NET_DEVICES set, without TCP,
/// if a rank uses only cards near it, and with fewer than two such networks. Collective.
std::vector<std::string> devices_of_rails(World& world);

}  // namespace tutti
