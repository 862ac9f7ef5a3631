// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/messages/hybrid.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "collectives/transport/messages/loopback.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/transport/ucx/ucx.hpp"

namespace tutti {
namespace {

// A plan's two endpoints; each message goes by the one that its peer is reached by.
class HybridEndpoint final : public Endpoint {
public:
    HybridEndpoint(World& world, MessageTransport& host, MessageTransport& network,
                   const EndpointNeeds& needs)
        : ways_(as_size(world.size()), {nullptr, network.name()}) {
        EndpointNeeds near = needs, far = needs;
        near.peers.clear();
        far.peers.clear();
        for (const Rank rank : world.ranks_of_host()) at(ways_, rank).name = host.name();
        for (const Rank peer : needs.peers)
            (at(ways_, peer).name == host.name() ? near : far).peers.push_back(peer);
        host_ = host.connect(near);
        network_ = network.connect(far);
        for (Way& way : ways_) way.endpoint = network_.get();
        for (const Rank rank : world.ranks_of_host()) at(ways_, rank).endpoint = host_.get();
    }

    void post_receive(int step, Rank from, std::span<std::byte> into) override {
        at(ways_, from).endpoint->post_receive(step, from, into);
    }
    void post_send(int step, Rank to, std::span<const std::byte> message) override {
        at(ways_, to).endpoint->post_send(step, to, message);
    }

    bool all_done() override {
        const bool is_host_done = host_->all_done();
        return network_->all_done() && is_host_done;
    }

    std::optional<Rank> waits_for() const override {
        if (const auto peer = host_->waits_for()) return peer;
        return network_->waits_for();
    }
    std::string_view way_to(Rank peer) const override { return at(ways_, peer).name; }

    void throw_if_failed() override {
        host_->throw_if_failed();
        network_->throw_if_failed();
    }
    void give_up() override {
        host_->give_up();
        network_->give_up();
    }

    std::optional<std::string> left_over() const override {
        if (auto left = host_->left_over()) return left;
        return network_->left_over();
    }

private:
    struct Way {
        Endpoint* endpoint;
        std::string_view name;
    };

    std::vector<Way> ways_;  // by peer
    std::unique_ptr<Endpoint> host_, network_;
};

// If it fails on one host, it does so on all.
std::unique_ptr<MessageTransport> messages_within_hosts(World& world) {
    return make_on_all_ranks(world, "messages within hosts", [&] { return host_messages(world); });
}

class Hybrid final : public MessageTransport {
public:
    Hybrid(World& world, std::string_view name, std::unique_ptr<MessageTransport> network)
        : world_(world),
          name_(name),
          network_(std::move(network)),
          host_(messages_within_hosts(world)) {}

    std::string_view name() const override { return name_; }
    std::string details() const override {
        const std::string of_network = network_->details();
        return std::string(host_->name()) + " within hosts, " + std::string(network_->name()) +
               " between them" + (of_network.empty() ? "" : ": " + of_network);
    }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<HybridEndpoint>(world_, *host_, *network_, needs);
    }
    std::size_t most_bytes() const override { return network_->most_bytes(); }

private:
    World& world_;
    std::string_view name_;
    std::unique_ptr<MessageTransport> network_, host_;
};

// UCX's constructor throws the same Error on all ranks.
std::unique_ptr<MessageTransport> network_messages(World& world) {
    if (world.kind() == "threads") return loopback_transport(world);
    const auto missing = missing_on_any(world, ucx_missing());
    if (!missing) try {
            return ucx_transport(world, UcxReach::other_hosts);
        } catch (const Error& error) {
            if (error.code() != Exit::usage || world.kind() != "mpi") throw;
        }
    if (world.kind() == "mpi") return mpi_transport(world);
    throw Error(*missing);
}

// Returns why these ranks need no hybrid transport.
std::optional<std::string> needs_no_hybrid(const World& world) {
    if (world.one_host()) return "all ranks are on one host; use --transport shm";
    if (std::ranges::all_of(world.hosts().nodes(),
                            [](const auto& host) { return host.size() == 1; }))
        return "no host has two ranks; use --transport ucx or mpi";
    return std::nullopt;
}

// Returns why ranks of one host cannot exchange messages.
std::optional<std::string> why_not_within_hosts(World& world) {
    try {
        messages_within_hosts(world);
        return std::nullopt;
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late
        return error.what();
    }
}

}  // namespace

std::unique_ptr<MessageTransport> hybrid_transport(World& world) {
    return std::make_unique<Hybrid>(world, "hybrid", network_messages(world));
}

std::unique_ptr<MessageTransport> hybrid_over_mpi(World& world) {
    return std::make_unique<Hybrid>(world, "hybrid-mpi", mpi_transport(world));
}

// Ranks of MPI need no trial of UCX.
std::optional<std::string> hybrid_refuses(World& world) {
    if (auto reason = needs_no_hybrid(world)) return reason;
    if (world.kind() == "processes") {
        if (auto missing = missing_on_any(world, ucx_missing())) return missing;
        if (auto refusal = ucx_refuses(world, UcxReach::other_hosts)) return refusal;
    }
    return why_not_within_hosts(world);
}

std::optional<std::string> hybrid_over_mpi_refuses(World& world) {
    if (auto reason = needs_no_hybrid(world)) return reason;
    if (auto refusal = ranks_are_not_of_mpi(world)) return refusal;
    return why_not_within_hosts(world);
}

}  // namespace tutti
