// SPDX-License-Identifier: Apache-2.0
#include "library/nccl/forced_choice.hpp"

#include <exception>

#include "collectives/baselines/tutti_nccl.h"

namespace tutti {

ForcedChoice& forced_choice() {
    static ForcedChoice forced;
    return forced;
}

}  // namespace tutti

#pragma GCC visibility push(default)
extern "C" {

int tutti_nccl_force(const char* choice) {
    using namespace tutti;
    try {
        forced_choice().choice =
            choice == nullptr || *choice == '\0' ? NcclChoice{} : parse_nccl_choice(choice);
        forced_choice().is_by_program = true;
        return 0;
    } catch (const std::exception&) {
        return -1;
    }
}

void tutti_nccl_count(struct tutti_nccl_counts* counts) {
    counts->chosen = tutti::forced_choice().chosen;
    counts->refused = tutti::forced_choice().refused;
}
}
#pragma GCC visibility pop
