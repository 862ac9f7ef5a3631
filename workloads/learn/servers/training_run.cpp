// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/training_run.hpp"

namespace tutti {

StepStamps of_one_step(StepStamps row, std::int64_t steps) {
    const auto shorter = [&](std::int64_t time) {
        return row.begin_ns + (time - row.begin_ns) / steps;
    };
    row.end_ns = shorter(row.end_ns);
    row.compute_ns /= steps;
    return row;
}

}  // namespace tutti
