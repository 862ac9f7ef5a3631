// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/learn/training/optimizer.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// Whether a server averages all gradients of a step or applies each as it arrives.
enum class ServerUpdates : std::uint8_t { synchronous, asynchronous };

/// When a server applies gradients.
struct ServerRules {
    int workers = 1;
    ServerUpdates updates = ServerUpdates::synchronous;
    /// Synchronous: a step ends once all but this many gradients have arrived (backup workers, Chen
    /// et al. 2016, arXiv:1604.00981). Later ones are discarded and counted.
    int dropped = 0;
    /// Asynchronous: no worker is more steps ahead of the slowest than this (stale synchronous
    /// parallel, Ho et al. 2013).
    std::optional<std::int64_t> staleness_bound = {};

    bool is_synchronous() const { return updates == ServerUpdates::synchronous; }
};

/// The next action of a worker that received weights.
enum class ServerReply : std::int64_t {
    proceed,  ///< push one gradient, and more later
    last,     ///< push one gradient, the last one
    stop      ///< push no more gradients
};

/// Whether a worker's gradient is its last one, so that it needs no reply.
enum class Pushed : std::uint8_t { one_of_many, last };

/// A server's part of the weights, and how it applies gradients, apart from how
/// messages travel. Workers' gradients are parts of a batch's sum, so that adding up those of all
/// workers makes the mean over the batch; asynchronously n workers' gradients, one after the other
/// at the same rate, move the weights about as far as one synchronous step does.
class Server {
public:
    /// Sends the current weights to a worker.
    using SendWeights = std::function<void(int worker, ServerReply reply)>;

    Server(ServerRules rules, std::span<const float> weights, const OptimizerKind& optimizer,
           LearningRate rate, SendWeights send_weights);

    /// Replies to every worker. Takes gradients for `steps` steps of all workers; asynchronously
    /// workers * steps gradients from any worker. Applies them only for StepPart::whole; otherwise
    /// the rate is 0.
    void begin(std::int64_t steps, StepPart part = StepPart::whole);

    /// Takes a gradient, which must not change until the worker gets its reply.
    void take(int worker, std::span<const float> gradient, Pushed pushed = Pushed::one_of_many);

    /// Whether no worker will push again.
    bool is_over() const { return done_ == rules_.workers; }
    /// A worker whose gradient is still to come.
    std::optional<int> waits_for() const;

    std::span<const float> weights() const { return weights_; }
    std::int64_t version() const { return version_; }  ///< updates ever
    std::int64_t updated_ns() const { return updated_ns_; }
    std::int64_t late() const { return discarded_; }  ///< gradients discarded
    /// Returns counts of gradients by age: entry i counts gradients applied i updates after the
    /// weights they were computed from.
    const std::vector<std::int64_t>& staleness() const { return staleness_; }

private:
    struct Worker {
        std::int64_t version = 0;  // that it has
        std::int64_t pushed = 0;   // gradients of this run
        std::span<const float> gradient;
        bool is_waiting = false;  // to be applied, or for a reply
        bool is_last = false;
        bool is_done = false;
    };

    void take_synchronously(Worker& worker);
    void take_at_once(Worker& worker);
    void update(std::span<const float> gradient);
    void release(Worker& worker);
    void reply_to(Worker& worker);
    ServerReply next_reply();
    void finish(Worker& worker);

    ServerRules rules_;
    std::vector<float> weights_;
    std::vector<float> sum_;
    std::unique_ptr<Optimizer> optimizer_;
    LearningRate rate_;
    SendWeights send_weights_;
    std::vector<Worker> workers_;
    bool learns_ = true;
    std::int64_t steps_ = 0;     // steps in this run
    std::int64_t first_ = 0;     // version when it began
    std::int64_t admitted_ = 0;  // gradients of this run that were requested
    int waiting_ = 0;            // gradients of this step
    int done_ = 0;               // workers
    std::int64_t version_ = 0;
    std::int64_t updated_ns_ = 0;
    std::int64_t discarded_ = 0;
    std::vector<std::int64_t> staleness_;
};

}  // namespace tutti
