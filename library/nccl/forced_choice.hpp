// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

#include "collectives/baselines/nccl_choice.hpp"

namespace tutti {

/// The choice that the user forces on all communicators of this process, and what became of
/// choices. NCCL asks from several threads.
struct ForcedChoice {
    std::atomic<NcclChoice> choice{};        ///< NCCL's own: none is forced
    std::atomic<bool> is_by_program{false};  ///< tutti_nccl_force() wins over the environment
    std::atomic<std::uint64_t> chosen{0}, refused{0};
};
static_assert(std::atomic<NcclChoice>::is_always_lock_free);

ForcedChoice& forced_choice();

}  // namespace tutti
