// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/rank_team.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/backoff.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

void nap() {
    const timespec time{.tv_sec = 0, .tv_nsec = 300'000};
    nanosleep(&time, nullptr);
}

}  // namespace

// Memory that a member shares with the others.
struct RankTeam::Shared {
    Counter counter;         // for measuring
    Counter arrivals;        // on the first member: counts all meetings of all members
    Counter works_of_first;  // on the first member only
    Counter ended;           // on the first member only
    alignas(128) double value;
    OwnView own_view;
};

int RankTeam::members_of(World& world) {
    if (!world.oversubscribed) return world.size();
    // Launchers that start more ranks than cores bind none of them, so each sees all cores.
    const auto cores = gather_all(world, usable_cores());
    return std::min(world.size(), *std::ranges::max_element(cores));
}

RankTeam::RankTeam(World& world, int most, std::size_t bytes)
    : world_(world),
      size_(std::min(members_of(world), most)),
      me_(world.rank().index),
      bytes_(bytes),
      cpus_(cpus_of_cores()),
      shared_(world, sizeof(Shared)),
      memory_(world, is_member() ? bytes : 0) {
    const int place = place_among_equals(world, cpus_);
    if (!is_member()) return;
    if (!cpus_.empty()) run_on(cpus_[as_size(place) % cpus_.size()]);
    std::memset(memory_.mine().data(), 0, bytes);  // pages near the core that owns them
    shared_by(me_).own_view = {getpid(), memory_.mine().data()};
    meet();
}

RankTeam::~RankTeam() { former_cpus_.restore(); }

std::byte* RankTeam::memory_of(int member) const { return memory_.of(Rank{member % size_}).data(); }

RankTeam::Shared& RankTeam::shared_by(int member) const {
    return *reinterpret_cast<Shared*>(shared_.of(Rank{member}).data());
}

RankTeam::OwnView RankTeam::own_view_of(int member) const { return shared_by(member).own_view; }

RankTeam::Counter& RankTeam::counter_of(int member) const { return shared_by(member).counter; }

void RankTeam::await(const Counter& counter, std::uint64_t goal) const {
    for (int attempt = 0; attempt < 100'000; ++attempt) {
        if (counter.number.load(std::memory_order_acquire) >= goal) return;
        relax();
    }
    Backoff backoff(world_);
    while (counter.number.load(std::memory_order_acquire) < goal)
        if (!backoff.pause())
            throw Error("rank " + std::to_string(me_) + " waited " +
                            std::to_string(world_.hang_timeout) +
                            " s for another rank to measure limits with",
                        Exit::time_out);
}

void RankTeam::meet() {
    world_.heartbeat();
    const std::uint64_t goal = ++meetings_ * static_cast<std::uint64_t>(size_);
    Counter& arrivals = shared_by(0).arrivals;
    arrivals.number.fetch_add(1, std::memory_order_acq_rel);
    await(arrivals, goal);
}

double RankTeam::largest(double mine) {
    shared_by(me_).value = mine;
    meet();
    double most = mine;
    for (int member = 0; member < size_; ++member) most = std::max(most, shared_by(member).value);
    meet();  // before anyone stores the next
    return most;
}

double RankTeam::from_first(double mine) {
    shared_by(me_).value = mine;
    meet();
    const double first = shared_by(0).value;
    meet();
    return first;
}

void RankTeam::sleep_until(const Counter& counter, std::uint64_t goal, double seconds) const {
    AwakeTime waited;
    while (counter.number.load(std::memory_order_acquire) < goal) {
        nap();
        world_.heartbeat();
        if (waited.look_seconds() > seconds)
            throw Error("rank " + std::to_string(me_) + " waited " + std::to_string(seconds) +
                            " s for other ranks that measure limits",
                        Exit::time_out);
    }
}

void RankTeam::on_first(const std::function<void()>& work) {
    ++works_of_first_;
    meet();
    Counter& done = shared_by(0).works_of_first;
    if (is_first()) {
        work();
        done.number.store(works_of_first_, std::memory_order_release);
    } else {
        sleep_until(done, works_of_first_, 60 + world_.hang_timeout);
    }
    meet();
}

void RankTeam::end() {
    meet();
    if (is_first()) shared_by(0).ended.number.store(1, std::memory_order_release);
}

void RankTeam::wait_for_end() { sleep_until(shared_by(0).ended, 1, 600 + world_.hang_timeout); }

}  // namespace tutti
