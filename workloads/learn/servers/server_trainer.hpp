// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "collectives/transport/endpoint.hpp"
#include "workloads/learn/servers/learner.hpp"
#include "workloads/learn/servers/server.hpp"
#include "workloads/program/changed_program.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

/// Point-to-point messages between any two ranks, each pair and direction on an endpoint of its
/// own, so that none waits for another: servers need it, collectives do not. At most one message is
/// under way from a rank to another, and each is received into a posted receive. To oneself it is a
/// copy.
class Mailbox {
public:
    /// Collective. Uses plans of `transport` from `first_plan` on, 2 P at most.
    /// Messages have `most_bytes` at most. The transport outlives it.
    Mailbox(World& world, MessageTransport& transport, int first_plan, std::size_t most_bytes);

    /// Room for the next message to `to`, for which the last one must have been sent.
    std::span<std::byte> send_buffer(Rank to, std::size_t bytes);
    /// Sends the send buffer, which must not change until is_sent().
    void send(Rank to);
    /// Whether no message to `to` is under way; makes progress.
    bool is_sent(Rank to);

    /// Allows a message of `bytes` to arrive, overwriting the previous one.
    void post_receive(Rank from, std::size_t bytes);
    /// Whether the posted receive is done; makes progress. True only once.
    bool has_arrived(Rank from);
    /// The message that has arrived, until the next receive is posted.
    std::span<const std::byte> message(Rank from) const;

private:
    struct Link {
        std::unique_ptr<Endpoint> endpoint;  // none: to oneself
        std::vector<std::byte> memory;
        std::size_t bytes = 0;
        bool is_open = false;
    };
    Link& link(std::vector<Link>& links, Rank peer) { return at(links, peer); }

    Rank me_;
    std::vector<Link> out_, in_;
};

/// The partner of `rank` in a round of a tournament in which each of P ranks meets each other once,
/// in P - 1 rounds (P if that is odd); none in a round that it sits out.
std::optional<Rank> partner(Rank rank, int round, int ranks);

/// How many ranks serve, and how.
struct Architecture {
    int servers = 1;  ///< each has a part of the weights; as many as ranks: fully decentralised
    ServerRules rules;
    Skew skew = {};  ///< a rank that computes slower
};

/// Every rank is a worker; server s runs on rank s P / S as well.
Rank rank_of_server(int server, int servers, int ranks);

/// The weights that a server has: [N s / S, N (s + 1) / S).
struct ServerPart {
    std::size_t begin = 0;
    std::size_t count = 0;
};
ServerPart part_of_server(int server, int servers, std::size_t weights);

/// Bytes of weights and gradients that a rank has sent and received since reset().
struct ServerTraffic {
    std::int64_t pushed = 0;  ///< as a worker
    std::int64_t pulled = 0;
    std::int64_t served = 0;  ///< as a server in both directions, including its own worker
};

/// Training by parameter servers (Li et al., OSDI 2014): each worker pulls the weights, pushes its
/// gradient, and so on. A worker pushes b N and pulls b N bytes a step; a server's link carries
/// 2 P b N / S. A rank that computes serves after each layer's gradient and whenever it waits.
class ServerTrainer final : public FreeRunningTrainer {
public:
    /// All trainers use the mailboxes in turn. They, world and learner outlive it.
    struct Mailboxes {
        Mailbox& pushes;  ///< gradients
        Mailbox& pulls;   ///< weights
    };
    ServerTrainer(World& world, Mailboxes mailboxes, DigitsLearner& learner,
                  const Architecture& architecture, const OptimizerKind& optimizer,
                  LearningRate rate);

    void reset() override;
    StepStamps run(std::int64_t steps, StepPart part) override;
    void gather_weights() override;
    std::vector<Metric> metrics() override;

    const ServerTraffic& traffic() const { return traffic_; }
    const Server* server() const { return server_.get(); }

private:
    struct Header;
    Rank rank_of(int server) const;
    ServerPart part(int server) const;
    void send_weights(int worker, ServerReply reply);
    void expect_weights();
    ServerReply pull();
    void push(Pushed pushed);
    bool serve();
    bool has_sent_all();
    template <class Done>
    void wait_until(const Done& is_done, const char* what);
    std::string hang_report(const std::string& what) const;

    World& world_;
    Mailbox& pushes_;
    Mailbox& pulls_;
    DigitsLearner& learner_;
    Architecture architecture_;
    const OptimizerKind& optimizer_;
    LearningRate rate_;
    std::optional<int> serves_;  // the server of this rank
    std::unique_ptr<Server> server_;
    std::vector<bool> expected_;  // servers whose weights are to arrive
    std::int64_t steps_pushed_ = 0;
    ServerTraffic traffic_;
};

/// The settings of `tutti workload parameter-server`.
std::span<const SettingRow> server_settings();

/// Their values.
struct ServerOptions {
    std::vector<std::optional<int>> servers;  ///< none: as many as ranks
    std::vector<ServerUpdates> updates;
    std::optional<std::int64_t> staleness_bound;
    int dropped = 0;
    Skew skew;  ///< of the slow rank, if any
    int batch = 32;
    std::int64_t steps_per_sample = 8;
};

/// Throws Error, one line that says what to type instead.
ServerOptions server_options(const Settings& settings);

/// A training method among those that alternate.
struct ServerMode {
    std::string name;
    Architecture architecture;
};

/// All architectures in each mode: undisturbed; with the slow rank, if there is one; and then
/// without waiting for the slowest. Throws Error where there are too few ranks.
std::vector<ServerMode> server_modes(const ServerOptions& options, int ranks);

}  // namespace tutti
