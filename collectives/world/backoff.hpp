// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include "base/clock.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Barriers wait this many times longer than plans: a rank that waits in a plan gives up first,
/// because its report names the peer.
inline constexpr double barrier_timeout_factor = 2;

/// Controls a waiting loop: it spins for as long as a signal from a running rank takes, then yields
/// the core, which the awaited rank may need. Also decides when to sleep (where possible) and when
/// to give up. Call pause() once per failed poll.
class Backoff {
public:
    explicit Backoff(const World& world, double times = 1)
        : spins_(world.oversubscribed ? 3 : 1024),
          limit_ns_(limit_in_ns(world.hang_timeout * times)) {}

    /// Returns a Backoff for a caller that sleeps when wants_sleep() is true. If other threads
    /// compute, it sleeps instead of yielding.
    static Backoff of_sleeper(const World& world) {
        Backoff backoff(world);
        backoff.sleeps_early_ = world.background;
        return backoff;
    }

    /// Restarts the wait after progress: it spins first again and has the full timeout.
    void renew() {
        looks_ = 0;
        waited_ns_ = 0;
        waited_ = {};
    }

    /// False once the deadline has passed. The clock starts with the first call that does not spin.
    bool pause() {
        if (looks_++ < spins_) {
            relax();
            return true;
        }
        if (!sleeps_early_) sched_yield();
        if (looks_ % 64 != 0 && !wants_sleep()) return true;
        waited_ns_ = waited_.look();
        return waited_ns_ < limit_ns_;
    }

    /// Whether the wait has been long enough to yield the core.
    bool yields() const { return looks_ > spins_; }

    /// Whether it is time to move data that a peer may need before it can send its signal
    /// (World::make_progress). That is seldom: it can cost more than a look at the signal, and a
    /// library that moves the data may yield the core once more.
    bool helps() const { return yields() && (looks_ % looks_between_help == 0 || wants_sleep()); }

    /// Whether sleeping costs little compared with the wait so far, if the caller
    /// can be woken.
    bool wants_sleep() const { return sleeps_early_ ? yields() : waited_ns_ > yielding_ns; }

private:
    static constexpr std::int64_t yielding_ns = 1'000'000;
    static constexpr long looks_between_help = 32;

    long spins_;
    bool sleeps_early_ = false;
    std::int64_t limit_ns_;
    long looks_ = 0;
    AwakeTime waited_;
    std::int64_t waited_ns_ = 0;
};

}  // namespace tutti
