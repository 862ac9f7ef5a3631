// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/configuration.hpp"
#include "collectives/execute/plan/buffer_kind.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Returns the best guess for a call in such buffers for which nothing was measured, over each
/// transport: few steps for small messages, few bytes for large ones, hierarchical algorithms
/// across hosts. The same on all ranks.
std::vector<Configuration> best_guesses(const Call& call, BufferKind buffers, const World& world);

/// Returns best_guesses(), then all_choices().
std::vector<Configuration> default_choices(const Call& call, BufferKind buffers,
                                           const World& world);

/// Returns everything that this build can try for a collective: each algorithm over each transport,
/// and the libraries.
std::vector<Configuration> all_choices(Collective collective, const World& world);

/// Returns those of all_choices() that a search may compare by the times of their calls. On shared
/// cores, tutti's own barriers are left out: the default barrier makes the next call faster, which
/// its own time does not show.
std::vector<Configuration> choices_to_learn(Collective collective, const World& world);

}  // namespace tutti
