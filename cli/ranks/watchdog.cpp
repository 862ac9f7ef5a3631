// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/watchdog.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

std::mutex activity_mutex;
std::string activity = "setting up";

}  // namespace

double seconds_in_library(double hang_timeout) { return hang_timeout * barrier_timeout_factor + 2; }

void say_activity(const std::string& what) {
    const std::lock_guard lock(activity_mutex);
    activity = what;
}

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
    const auto limit = [this] {  // a workload moves it
        const double of_waits = std::atomic_ref(world_.hang_timeout).load();
        return std::chrono::duration<double>(seconds_in_library(of_waits));
    };
    auto last_change = std::chrono::steady_clock::now();
    auto last_look = last_change;
    long last_seen = world_.heartbeats;
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(200), [this] { return over_; })) {
        const auto now = std::chrono::steady_clock::now();
        const long seen = world_.heartbeats;
        // A watchdog that did not wake was itself stopped, and knows nothing of the time between.
        const bool slept = now - std::exchange(last_look, now) > std::chrono::seconds(1);
        if (seen != last_seen || slept) {
            last_seen = seen;
            last_change = now;
        } else if (now - last_change > limit()) {
            const std::lock_guard activity_lock(activity_mutex);
            std::fprintf(stderr,
                         "tutti: rank %d has not come back for %.0f s from a library call in %s\n",
                         world_.rank().index, limit().count(), activity.c_str());
            std::fflush(stderr);
            _exit(static_cast<int>(Exit::time_out));
        }
    }
}

}  // namespace tutti
