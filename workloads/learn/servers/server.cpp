// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/server.hpp"

#include <algorithm>
#include <limits>

#include "base/clock.hpp"

namespace tutti {

Server::Server(ServerRules rules, std::span<const float> weights, const OptimizerKind& optimizer,
               LearningRate rate, Answer answer)
    : rules_(rules),
      weights_(weights.begin(), weights.end()),
      sum_(weights.size()),
      optimizer_(optimizer.make(weights.size())),
      rate_(rate),
      answer_(std::move(answer)),
      workers_(static_cast<std::size_t>(rules.workers)) {}

void Server::begin(std::int64_t steps, bool learns) {
    steps_ = steps;
    learns_ = learns;
    first_ = version_;
    admitted_ = 0;
    here_ = left_ = 0;
    std::ranges::fill(workers_, Worker{});
    for (Worker& worker : workers_) answer(worker);
}

void Server::take(int worker, std::span<const float> gradient, bool is_last) {
    Worker& from = workers_[static_cast<std::size_t>(worker)];
    from.gradient = gradient;
    from.is_last = is_last;
    ++from.pushed;
    if (rules_.is_synchronous)
        take_synchronously(from);
    else
        take_at_once(from);
}

void Server::take_synchronously(Worker& from) {
    if (from.told < version_) {
        ++late_;
        return let_go(from);
    }
    from.is_here = true;
    if (++here_ < rules_.workers - rules_.dropped) return;
    // In the order of ranks, whoever came first: the sum is the same, bit for bit.
    std::ranges::fill(sum_, 0.0f);
    for (const Worker& worker : workers_)
        if (worker.is_here)
            for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += worker.gradient[i];
    if (here_ < rules_.workers) {
        const float of_all = static_cast<float>(rules_.workers) / static_cast<float>(here_);
        for (float& value : sum_) value *= of_all;
    }
    here_ = 0;
    update(sum_);
    for (Worker& worker : workers_)
        if (worker.is_here) let_go(worker);
}

void Server::take_at_once(Worker& from) {
    const auto staleness = static_cast<std::size_t>(version_ - from.told);
    if (staleness_.size() <= staleness) staleness_.resize(staleness + 1);
    ++staleness_[staleness];
    update(from.gradient);
    from.is_here = true;
    if (from.is_last) let_go(from);
    // Whoever is not too far ahead; the slowest never is.
    std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
    for (const Worker& worker : workers_)
        if (!worker.has_left) slowest = std::min(slowest, worker.pushed);
    for (Worker& worker : workers_)
        if (worker.is_here &&
            (!rules_.staleness_bound || worker.pushed - slowest <= *rules_.staleness_bound))
            let_go(worker);
}

void Server::update(std::span<const float> gradient) {
    const std::int64_t updates_a_step = rules_.is_synchronous ? 1 : rules_.workers;
    const int step = static_cast<int>(version_ / updates_a_step);
    optimizer_->step(weights_, gradient, learns_ ? rate_.at(step) : 0);
    ++version_;
    updated_ns_ = now_ns();
}

void Server::let_go(Worker& worker) {
    worker.is_here = false;
    if (worker.is_last)
        leave(worker);
    else
        answer(worker);
}

void Server::leave(Worker& worker) {
    worker.has_left = true;
    ++left_;
}

void Server::answer(Worker& worker) {
    worker.told = version_;
    const ServerWord now = word();
    if (now == ServerWord::over) leave(worker);
    answer_(static_cast<int>(&worker - workers_.data()), now);
}

ServerWord Server::word() {
    if (rules_.is_synchronous) {
        const std::int64_t to_go = steps_ - (version_ - first_);
        return to_go == 0 ? ServerWord::over : to_go == 1 ? ServerWord::last : ServerWord::go;
    }
    // Each worker gets one of the last so many, and ends with it.
    return ++admitted_ > (steps_ - 1) * rules_.workers ? ServerWord::last : ServerWord::go;
}

std::optional<int> Server::waits_for() const {
    for (std::size_t i = 0; i < workers_.size(); ++i)
        if (!workers_[i].has_left && !workers_[i].is_here) return static_cast<int>(i);
    return std::nullopt;
}

}  // namespace tutti
