// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/learner.hpp"

#include <time.h>

#include <algorithm>

#include "base/clock.hpp"

namespace tutti {

DigitsLearner::DigitsLearner(const std::string& network, Dataset train, int batch, Share share,
                             unsigned seed)
    : train_(std::move(train)),
      batch_(batch),
      share_(share),
      seed_(seed),
      order_(std::make_unique<BatchOrder>(train_.rows(), batch, seed)),
      network_(make_network(network, train_.columns, train_.classes(), seed)),
      first_weights_(network_.weights().begin(), network_.weights().end()) {}

void DigitsLearner::reset() {
    std::ranges::copy(first_weights_, network_.weights().begin());
    order_ = std::make_unique<BatchOrder>(train_.rows(), batch_, seed_);
}

std::int64_t DigitsLearner::compute_gradients(double times,
                                              const std::function<void()>& meanwhile) {
    std::int64_t began = now_ns(), own = 0;
    const auto serve = [&] {
        own += now_ns() - began;
        meanwhile();
        began = now_ns();
    };
    rows_.take(train_, share_of(order_->next(), share_.rank, share_.ranks));
    network_.forward(rows_, batch_);
    serve();
    network_.backward(rows_, [&](int) { serve(); });
    own += now_ns() - began;
    // Sleeps, so that other ranks can use the core.
    const auto extra = static_cast<std::int64_t>(static_cast<double>(own) * (times - 1));
    for (const std::int64_t end = now_ns() + extra; now_ns() < end;) {
        meanwhile();
        const timespec a_while{.tv_sec = 0, .tv_nsec = 20'000};
        nanosleep(&a_while, nullptr);
    }
    return own + extra;
}

}  // namespace tutti
