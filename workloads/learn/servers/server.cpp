// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/server.hpp"

#include <algorithm>
#include <limits>

#include "base/clock.hpp"
#include "base/index.hpp"

namespace tutti {

Server::Server(ServerRules rules, std::span<const float> weights, const OptimizerKind& optimizer,
               LearningRate rate, SendWeights send_weights)
    : rules_(rules),
      weights_(weights.begin(), weights.end()),
      sum_(weights.size()),
      optimizer_(optimizer.make(weights.size())),
      rate_(rate),
      send_weights_(std::move(send_weights)),
      workers_(as_size(rules.workers)) {}

void Server::begin(std::int64_t steps, StepPart part) {
    steps_ = steps;
    learns_ = part == StepPart::whole;
    first_ = version_;
    admitted_ = 0;
    waiting_ = done_ = 0;
    std::ranges::fill(workers_, Worker{});
    for (Worker& worker : workers_) reply_to(worker);
}

void Server::take(int worker, std::span<const float> gradient, Pushed pushed) {
    Worker& from = at(workers_, worker);
    from.gradient = gradient;
    from.is_last = pushed == Pushed::last;
    ++from.pushed;
    if (rules_.is_synchronous())
        take_synchronously(from);
    else
        take_at_once(from);
}

void Server::take_synchronously(Worker& from) {
    if (from.version < version_) {
        ++discarded_;
        return release(from);
    }
    from.is_waiting = true;
    if (++waiting_ < rules_.workers - rules_.dropped) return;
    // Adds in the order of ranks, not of arrival, so that the sum always has the same bits.
    std::ranges::fill(sum_, 0.0f);
    for (const Worker& worker : workers_)
        if (worker.is_waiting)
            for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += worker.gradient[i];
    if (waiting_ < rules_.workers) {
        const float of_all = static_cast<float>(rules_.workers) / static_cast<float>(waiting_);
        for (float& value : sum_) value *= of_all;
    }
    waiting_ = 0;
    update(sum_);
    for (Worker& worker : workers_)
        if (worker.is_waiting) release(worker);
}

void Server::take_at_once(Worker& from) {
    const auto staleness = as_size(version_ - from.version);
    if (staleness_.size() <= staleness) staleness_.resize(staleness + 1);
    ++staleness_[staleness];
    update(from.gradient);
    from.is_waiting = true;
    if (from.is_last) release(from);
    // Releases workers that are not too far ahead; the slowest never is.
    std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
    for (const Worker& worker : workers_)
        if (!worker.is_done) slowest = std::min(slowest, worker.pushed);
    for (Worker& worker : workers_)
        if (worker.is_waiting &&
            (!rules_.staleness_bound || worker.pushed - slowest <= *rules_.staleness_bound))
            release(worker);
}

void Server::update(std::span<const float> gradient) {
    const std::int64_t updates_a_step = rules_.is_synchronous() ? 1 : rules_.workers;
    const int step = static_cast<int>(version_ / updates_a_step);
    optimizer_->step(weights_, gradient, learns_ ? rate_.at(step) : 0);
    ++version_;
    updated_ns_ = now_ns();
}

void Server::release(Worker& worker) {
    worker.is_waiting = false;
    if (worker.is_last)
        finish(worker);
    else
        reply_to(worker);
}

void Server::finish(Worker& worker) {
    worker.is_done = true;
    ++done_;
}

void Server::reply_to(Worker& worker) {
    worker.version = version_;
    const ServerReply reply = next_reply();
    if (reply == ServerReply::stop) finish(worker);
    send_weights_(static_cast<int>(&worker - workers_.data()), reply);
}

ServerReply Server::next_reply() {
    if (rules_.is_synchronous()) {
        const std::int64_t to_go = steps_ - (version_ - first_);
        return to_go == 0   ? ServerReply::stop
               : to_go == 1 ? ServerReply::last
                            : ServerReply::proceed;
    }
    // Each worker gets one of the last replies and ends with it.
    return ++admitted_ > (steps_ - 1) * rules_.workers ? ServerReply::last : ServerReply::proceed;
}

std::optional<int> Server::waits_for() const {
    for (std::size_t i = 0; i < workers_.size(); ++i)
        if (!workers_[i].is_done && !workers_[i].is_waiting) return static_cast<int>(i);
    return std::nullopt;
}

}  // namespace tutti
