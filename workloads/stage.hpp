// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "collectives/execute/baselines.hpp"
#include "collectives/transport/shared_memory.hpp"

namespace tutti {

/// The buffers of one call on the stage.
struct StageBuffers {
    CallBuffers call;
    std::span<std::byte> writable_input;
    const SharedMemory* registered = nullptr;
    bool is_registered = false;
};

/// The memory that all candidates of a sweep use in turn: registered where the ranks can share
/// memory, else ordinary. Library and our own get the same bytes at the same addresses.
class Stage {
public:
    /// Collective. Room for calls of up to `bytes` (see bytes_for).
    Stage(World& world, std::size_t bytes);

    static std::size_t bytes_for(const Call& call, int ranks, bool in_place);

    /// This rank's buffers for a call. In place they coincide, else they lie on pages of their own.
    StageBuffers set(const Call& call, bool in_place) const;

private:
    const World& world_;
    std::unique_ptr<SharedMemory> shared_;
    std::vector<std::byte> ordinary_;
};

}  // namespace tutti
