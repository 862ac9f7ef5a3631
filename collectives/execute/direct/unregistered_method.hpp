// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/execute/plan/plan_request.hpp"
#include "topology/machine/host_tuning.hpp"

namespace tutti {

/// Whether a call on unregistered memory is large enough to be read through the kernel, if that
/// memory lies in huge pages; else it is staged.
bool is_worth_fetching(const Call& call, int ranks, int chunks, const HostTuning& tuning);

/// In how many pieces, one behind the other, a schedule of so many chunks is staged.
int staged_pieces(const Call& call, int ranks, int chunks, const HostTuning& tuning);

}  // namespace tutti
