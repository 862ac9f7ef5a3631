// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/learn/servers/learner.hpp"
#include "workloads/learn/servers/mailbox.hpp"
#include "workloads/learn/servers/server.hpp"
#include "workloads/program/changed_program.hpp"

namespace tutti {

/// How many ranks serve, and how.
struct Architecture {
    int servers = 1;  ///< each has a part of the weights; as many as ranks: fully decentralised
    ServerRules rules;
    Skew skew = {};  ///< a rank that computes slower
};

/// Every rank works; server s serves, besides, on rank s P / S.
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
    std::int64_t served = 0;  ///< as a server in both directions, its own worker included
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

}  // namespace tutti
