// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tutti {

/// Goyal et al. 2017 (arXiv:1706.02677): P ranks with a batch each take a batch P times as large
/// per step, so the rate is P times one rank's; but not from the start, while the weights still
/// change fast: it grows from one rank's rate in equal steps.
struct LearningRate {
    double of_one_rank = 0.1;
    int ranks = 1;
    int warm_up_steps = 0;

    /// Of a step counted from 0; from step `warm_up_steps` on it is P times of_one_rank.
    double at(int step) const {
        const double grown = step < warm_up_steps ? static_cast<double>(step) / warm_up_steps : 1;
        return of_one_rank * (1 + (ranks - 1) * grown);
    }
};

}  // namespace tutti
