// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>

#include <optional>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// Watches the other ranks' processes that this one can see: those on the same host and in the same
/// process namespace. For transports without a connection that breaks when a process ends.
class ProcessWatch {
public:
    /// Collective. Watches no process if ranks are threads or the kernel is older than 5.3.
    explicit ProcessWatch(World& world);
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    /// Returns a rank whose process has ended. Costs a system call.
    std::optional<Rank> ended();

private:
    std::vector<pollfd> processes_;
    std::vector<Rank> ranks_;
};

}  // namespace tutti
