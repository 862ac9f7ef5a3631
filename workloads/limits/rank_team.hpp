// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collectives/world/shared_memory.hpp"

namespace tutti {

/// The ranks that measure a host's limits: one for each core, each on a core of its own while this
/// lives. They meet in nanoseconds and without the transports, which have limits of their own.
class RankTeam {
public:
    /// Collective; ranks on one host. `bytes` of shared memory for each member; at most `most`
    /// members. Ranks beyond the cores are no members: they sleep in wait_for_the_end().
    RankTeam(World& world, int most, std::size_t bytes);
    ~RankTeam();
    RankTeam(const RankTeam&) = delete;
    RankTeam& operator=(const RankTeam&) = delete;

    /// How many ranks may be members: those that have cores to run at once. Collective.
    static int members_of(World& world);

    int size() const { return size_; }
    int me() const { return me_; }
    bool is_first() const { return me_ == 0; }
    bool is_member() const { return me_ < size_; }

    /// A member's shared memory, touched by its owner; `member` counts round.
    std::byte* memory_of(int member) const;
    std::size_t bytes() const { return bytes_; }

    /// All members at once. Throws Error with Exit::time_out if one does not come.
    void meet();

    /// The largest of all members' numbers, and the first member's.
    double largest(double mine);
    double from_rank0(double mine);

    /// `work` on the first member, while the others sleep and leave the machine to it.
    void alone(const std::function<void()>& work);

    void end();               ///< said by every member
    void wait_for_the_end();  ///< and awaited by every other rank

    /// A cache line of a member's own, which it writes and others read.
    struct alignas(128) Line {
        std::atomic<std::uint64_t> number;
    };
    Line& line_of(int member) const;

    /// Waits until the number there is at least `goal`.
    void await(const Line& line, std::uint64_t goal) const;

    /// Where a member's memory is, as that member sees it.
    struct Home {
        int process;
        std::byte* memory;
    };
    const Home& home_of(int member) const;

    /// The CPUs that members may use, one of each core.
    const std::vector<int>& cpus() const { return cpus_; }

private:
    struct Desk;
    Desk& desk_of(int member) const;
    void nap_until(const Line& line, std::uint64_t goal, double seconds) const;

    World& world_;
    int size_, me_;
    std::size_t bytes_;
    std::vector<int> cpus_;
    SharedMemory desks_;
    SharedMemory memory_;
    cpu_set_t former_{};
    std::uint64_t meetings_ = 0;
    std::uint64_t solos_ = 0;
};

}  // namespace tutti
