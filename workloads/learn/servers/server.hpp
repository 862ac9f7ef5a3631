// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/learn/training/optimizer.hpp"

namespace tutti {

/// When a server applies gradients.
struct ServerRules {
    int workers = 1;
    /// All of a step together, averaged; else each as it comes.
    bool is_synchronous = true;
    /// Synchronously: a step is over once all but so many gradients are there (backup workers, Chen
    /// et al. 2016, arXiv:1604.00981). Those that come later are discarded and counted.
    int dropped = 0;
    /// Asynchronously: nobody is more steps ahead of the slowest than this (stale synchronous
    /// parallel, Ho et al. 2013).
    std::optional<std::int64_t> staleness_bound = {};
};

/// What a worker is told with the weights.
enum class ServerReply : std::int64_t {
    go,    ///< one gradient, and more later
    last,  ///< one gradient, the last one
    over   ///< no more gradients
};

/// A server's part of the weights, and what it does with gradients: it knows nothing of how
/// messages travel. Workers' gradients are parts of a batch's sum, so that adding up those of all
/// workers makes the mean over the batch; asynchronously n workers' gradients, one after the other
/// at the same rate, move the weights about as far as one synchronous step does.
class Server {
public:
    /// Sends the weights, as they are now, to a worker.
    using SendWeights = std::function<void(int worker, ServerReply next_reply)>;

    Server(ServerRules rules, std::span<const float> weights, const OptimizerKind& optimizer,
           LearningRate rate, SendWeights reply_to);

    /// Answers every worker: so many steps of all of them begin, asynchronously workers * steps
    /// gradients of whoever is fast. What is not to learn does the same work at rate 0.
    void begin(std::int64_t steps, bool learns);

    /// A gradient, which stays where it is until the worker is answered. `is_last`: the worker
    /// expects no answer.
    void take(int worker, std::span<const float> gradient, bool is_last);

    /// Whether nobody is left that would push.
    bool is_over() const { return done_ == rules_.workers; }
    /// One whose gradient is to come.
    std::optional<int> waits_for() const;

    std::span<const float> weights() const { return weights_; }
    std::int64_t version() const { return version_; }  ///< updates ever
    std::int64_t updated_ns() const { return updated_ns_; }
    std::int64_t late() const { return discarded_; }  ///< gradients discarded
    /// How often a gradient was applied to weights so many updates newer than its own.
    const std::vector<std::int64_t>& staleness() const { return staleness_; }

private:
    struct Worker {
        std::int64_t version = 0;  // the version it has
        std::int64_t pushed = 0;   // gradients of this run
        std::span<const float> gradient;
        bool is_waiting = false;  // its gradient waits to be applied, or it for an answer
        bool is_last = false;
        bool is_done = false;
    };

    void take_synchronously(Worker& worker);
    void take_at_once(Worker& worker);
    void update(std::span<const float> gradient);
    void release(Worker& worker);
    void reply_to(Worker& worker);
    ServerReply next_reply();
    void leave(Worker& worker);

    ServerRules rules_;
    std::vector<float> weights_;
    std::vector<float> sum_;
    std::unique_ptr<Optimizer> optimizer_;
    LearningRate rate_;
    SendWeights send_weights_;
    std::vector<Worker> workers_;
    bool learns_ = true;
    std::int64_t steps_ = 0;     // of this run
    std::int64_t first_ = 0;     // version at its begin
    std::int64_t admitted_ = 0;  // gradients of this run that were asked for
    int waiting_ = 0;            // gradients of this step
    int done_ = 0;
    std::int64_t version_ = 0;
    std::int64_t updated_ns_ = 0;
    std::int64_t discarded_ = 0;
    std::vector<std::int64_t> staleness_;
};

}  // namespace tutti
