// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/rank_team.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "collectives/world/backoff.hpp"
#include "topology/detect/host_facts.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

void nap() {
    const timespec a_while{.tv_sec = 0, .tv_nsec = 300'000};
    nanosleep(&a_while, nullptr);
}

}  // namespace

// What a member shows to the others.
struct RankTeam::Desk {
    Line line;      // for measuring
    Line receives;  // of the first member: all meetings of all members, counted for ever
    Line solos;     // of the first member: what it has done alone
    Line over;      // of the first member
    alignas(128) double shown;
    Home home;
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
      desks_(world, sizeof(Desk)),
      memory_(world, is_member() ? bytes : 0) {
    sched_getaffinity(0, sizeof former_, &former_);
    const int seat = seat_among_equals(world, cpus_);
    if (!is_member()) return;
    if (!cpus_.empty()) run_on(cpus_[static_cast<std::size_t>(seat) % cpus_.size()]);
    std::memset(memory_.mine().data(), 0, bytes);  // pages near the core that owns them
    desk_of(me_).home = {getpid(), memory_.mine().data()};
    meet();
}

RankTeam::~RankTeam() { sched_setaffinity(0, sizeof former_, &former_); }

std::byte* RankTeam::memory_of(int member) const { return memory_.of(Rank{member % size_}).data(); }

RankTeam::Desk& RankTeam::desk_of(int member) const {
    return *reinterpret_cast<Desk*>(desks_.of(Rank{member}).data());
}

const RankTeam::Home& RankTeam::home_of(int member) const { return desk_of(member).home; }

RankTeam::Line& RankTeam::line_of(int member) const { return desk_of(member).line; }

void RankTeam::await(const Line& line, std::uint64_t goal) const {
    for (int look = 0; look < 100'000; ++look) {
        if (line.number.load(std::memory_order_acquire) >= goal) return;
        relax();
    }
    Backoff patience(world_);
    while (line.number.load(std::memory_order_acquire) < goal)
        if (!patience.pause())
            throw Error("rank " + std::to_string(me_) + " waited " +
                            std::to_string(world_.hang_timeout) +
                            " s for another rank to measure limits with",
                        Exit::time_out);
}

void RankTeam::meet() {
    world_.heartbeat();
    const std::uint64_t goal = ++meetings_ * static_cast<std::uint64_t>(size_);
    Line& receives = desk_of(0).receives;
    receives.number.fetch_add(1, std::memory_order_acq_rel);
    await(receives, goal);
}

double RankTeam::largest(double mine) {
    desk_of(me_).shown = mine;
    meet();
    double most = mine;
    for (int member = 0; member < size_; ++member) most = std::max(most, desk_of(member).shown);
    meet();  // before anyone shows the next
    return most;
}

double RankTeam::from_rank0(double mine) {
    desk_of(me_).shown = mine;
    meet();
    const double first = desk_of(0).shown;
    meet();
    return first;
}

void RankTeam::nap_until(const Line& line, std::uint64_t goal, double seconds) const {
    const std::int64_t began = now_ns();
    while (line.number.load(std::memory_order_acquire) < goal) {
        nap();
        world_.heartbeat();
        if (static_cast<double>(now_ns() - began) > seconds * 1e9)
            throw Error("rank " + std::to_string(me_) + " waited " + std::to_string(seconds) +
                            " s for other ranks that measure limits",
                        Exit::time_out);
    }
}

void RankTeam::alone(const std::function<void()>& work) {
    ++solos_;
    meet();
    Line& done = desk_of(0).solos;
    if (is_first()) {
        work();
        done.number.store(solos_, std::memory_order_release);
    } else {
        nap_until(done, solos_, 60 + world_.hang_timeout);
    }
    meet();
}

void RankTeam::end() {
    meet();
    if (is_first()) desk_of(0).over.number.store(1, std::memory_order_release);
}

void RankTeam::wait_for_the_end() { nap_until(desk_of(0).over, 1, 600 + world_.hang_timeout); }

}  // namespace tutti
