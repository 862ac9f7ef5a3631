// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>

#include <optional>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// The other ranks' processes, as far as this one can see them: those of this host and this process
/// namespace. For transports without a connection whose end would show it.
class ProcessWatch {
public:
    /// Collective. Watches nobody where ranks are threads, or the kernel is older than 5.3.
    explicit ProcessWatch(World& world);
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    /// A rank whose process has ended; a system call.
    std::optional<Rank> ended();

private:
    std::vector<pollfd> processes_;
    std::vector<Rank> ranks_;
};

}  // namespace tutti
