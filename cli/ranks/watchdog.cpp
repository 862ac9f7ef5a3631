// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "cli/ranks/guardian.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

double seconds_in_library(double hang_timeout) { return hang_timeout * barrier_timeout_factor + 2; }

Watchdog::Watchdog(World& world) : world_(world), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

void Watchdog::watch() {
    AwakeTime since_change;
    long last_seen = world_.heartbeats;
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(200), [this] { return over_; })) {
        // A workload moves it.
        const double limit = seconds_in_library(std::atomic_ref(world_.hang_timeout).load());
        if (const long seen = world_.heartbeats; seen != last_seen) {
            last_seen = seen;
            since_change = {};
        }
        if (since_change.look_seconds() > limit) {
            const std::string what =
                fmt::format("rank {} has not come back for {:.0f} s from a library call{}",
                            world_.rank().index, limit, in_activity());
            announce_time_out(what);
            fmt::print(stderr, "tutti: {}\n", what);
            _exit(static_cast<int>(Exit::time_out));
        }
    }
}

}  // namespace tutti
