// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collectives/world/world.hpp"

namespace tutti {

/// How long a call into a library may take: longer than the deadlines of our own waits, which can
/// say more.
double seconds_in_library(double hang_timeout);

/// Ends the process (exit 4) if its rank meets no other for well over the hang timeout: the last
/// resort for calls into libraries, which wait without a deadline of their own.
class Watchdog {
public:
    explicit Watchdog(World& world);
    ~Watchdog();

private:
    void watch();

    World& world_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace tutti
