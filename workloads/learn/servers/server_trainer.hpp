// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/learn/servers/learner.hpp"
#include "workloads/learn/servers/mailbox.hpp"
#include "workloads/learn/servers/server.hpp"

namespace tutti {

/// Who serves, and how.
struct Architecture {
    int servers = 1;  ///< each has a part of the weights; as many as ranks: fully decentralised
    ServerRules rules;
    std::optional<Rank> slow = {};  ///< computes so many times slower
    double slow_times = 1;
};

/// Every rank works; server s serves, besides, on rank s P / S.
Rank rank_of_server(int server, int servers, int ranks);

/// The weights that a server has: [N s / S, N (s + 1) / S).
struct ServerPart {
    std::size_t begin = 0;
    std::size_t count = 0;
};
ServerPart part_of_server(int server, int servers, std::size_t weights);

/// Bytes of weights and gradients that a rank has sent and received since it began anew.
struct ServerTraffic {
    std::int64_t pushed = 0;  ///< as a worker
    std::int64_t pulled = 0;
    std::int64_t served = 0;  ///< as a server, both ways, its own worker's among them
};

/// Training by parameter servers (Li et al., OSDI 2014): each worker pulls the weights, pushes its
/// gradient, and so on. A worker pushes b N and pulls b N bytes a step; a server's link carries
/// 2 P b N / S. A rank that computes serves after each layer's gradient and whenever it waits.
class ServerTrainer final : public FreeRunningTrainer {
public:
    /// The mails are all trainers' in turn. They, world and learner outlive it.
    struct Mailboxes {
        Mailbox& pushes;  ///< gradients
        Mailbox& pulls;   ///< weights
    };
    ServerTrainer(World& world, Mailboxes mails, DigitsLearner& learner,
                  const Architecture& architecture, const OptimizerKind& optimizer,
                  LearningRate rate);

    void reset() override;
    StepStamps run(const StepBatch& batch) override;
    void gather_weights() override;
    std::vector<Metric> metrics() override;

    const ServerTraffic& traffic() const { return traffic_; }
    const Server* server() const { return server_.get(); }

private:
    struct Header;
    ServerPart part(int server) const;
    void send_weights(int worker, ServerReply reply);
    void expect_weights();
    ServerReply pull();
    void push(bool is_last);
    bool serve();
    bool has_sent_all();
    template <class Done>
    void wait_until(const Done& is_done, const char* what);
    std::string culprit(const std::string& what) const;

    World& world_;
    Mailbox& pushes_;
    Mailbox& pulls_;
    DigitsLearner& learner_;
    Architecture architecture_;
    const OptimizerKind& optimizer_;
    LearningRate rate_;
    std::optional<int> serves_;  // which server this rank is
    std::unique_ptr<Server> server_;
    std::vector<bool> expected_;  // servers whose weights are to come
    std::int64_t steps_pushed_ = 0;
    ServerTraffic traffic_;
};

}  // namespace tutti
