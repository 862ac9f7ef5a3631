// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

namespace tutti {

/// Goyal et al. 2017 (arXiv:1706.02677): P ranks with a batch each take a batch P times as large
/// per step, so the rate is P times one rank's; but not from the start, while the weights still
/// change fast: it grows from one rank's rate in equal steps. Where it is known when training ends,
/// it falls to nothing over the second half, or the weights would be where the last few batches
/// threw them.
struct LearningRate {
    double of_one_rank = 0.1;
    int ranks = 1;
    int warm_up_steps = 0;
    int steps = 0;  // in all; 0 where that is not known

    /// Of a step counted from 0; at its height P times of_one_rank.
    double at(int step) const {
        const double grown = step < warm_up_steps ? static_cast<double>(step) / warm_up_steps : 1;
        const double left = steps > 0 ? 2.0 * (steps - step) / steps : 1;
        return of_one_rank * (1 + (ranks - 1) * grown) * std::clamp(left, 0.0, 1.0);
    }
};

}  // namespace tutti
