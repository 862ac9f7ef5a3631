// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/execute/plan/layout.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {

/// What is known of the result of a call on so many ranks, with the data of that seed.
inline CheckCase check_of(const Call& call, int ranks, std::uint64_t seed) {
    return {.collective = call.collective,
            .type = call.type,
            .op = call.op,
            .ranks = ranks,
            .root = call.root.index,
            .count = call.count,
            .seed = seed};
}

}  // namespace tutti
