// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "workloads/timing/batch.hpp"

namespace tutti {

/// From one deadline to the next. Everyone's n-th smallest call is not known before the batch is
/// over, so distances are guessed from the batches before: a little more than nearly all calls
/// took.
class Distance {
public:
    void learn(const TimedBatch& batch) {
        if (!batch.samples_ns.empty()) {
            const std::int64_t usual = nearly_most(batch.samples_ns) + batch.before_ns;
            ns_ = std::max(usual + usual / 4 + margin_ns_, ns_ * 19 / 20);
        } else {
            ns_ += ns_ / 2 + margin_ns_;  // nobody was on time
        }
        const auto calls = static_cast<std::int64_t>(batch.samples_ns.size()) + batch.n_invalid;
        if (batch.n_invalid * 5 > calls)
            margin_ns_ = std::min<std::int64_t>(margin_ns_ * 3 / 2, 1'000'000);
    }
    void guess(std::int64_t call_ns) { ns_ = call_ns * 2 + margin_ns_; }
    std::int64_t ns() const { return ns_; }

private:
    std::int64_t margin_ns_ = 1'000;
    std::int64_t ns_ = 0;
};

}  // namespace tutti
