// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/world/shared_memory.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {

/// The ranks that measure a host's limits: one for each core, pinned to it during the lifetime of
/// this object. Their barrier takes nanoseconds and uses no transport, because transports have
/// limits of their own.
class RankTeam {
public:
    /// Collective; ranks on one host. At most `most` ranks become members, each with `bytes` of
    /// shared memory. Ranks beyond the number of cores are not members: they sleep in
    /// wait_for_end().
    RankTeam(World& world, int most, std::size_t bytes);
    ~RankTeam();
    RankTeam(const RankTeam&) = delete;
    RankTeam& operator=(const RankTeam&) = delete;

    /// Returns how many ranks may be members: those that have cores to run at once. Collective.
    static int members_of(World& world);

    int size() const { return size_; }
    int me() const { return me_; }
    bool is_first() const { return me_ == 0; }
    bool is_member() const { return me_ < size_; }

    /// Returns a member's shared memory, touched by its owner; `member` modulo size().
    std::byte* memory_of(int member) const;
    std::size_t bytes() const { return bytes_; }

    /// Waits at a barrier of all members. Throws Error with Exit::time_out if one does not arrive.
    void meet();

    /// Return the largest of all members' numbers, and the first member's.
    double largest(double mine);
    double from_first(double mine);

    /// Runs `work` on the first member, while the others sleep.
    void on_first(const std::function<void()>& work);

    void end();           ///< called by every member
    void wait_for_end();  ///< called by every other rank

    /// A cache line that one member writes and others read.
    struct alignas(128) Counter {
        std::atomic<std::uint64_t> number;
    };
    Counter& counter_of(int member) const;

    /// Waits until the number is at least `goal`. Throws Error with Exit::time_out.
    void await(const Counter& counter, std::uint64_t goal) const;

    /// Returns a member's process, and the address of its memory there.
    struct OwnView {
        int process;
        std::byte* memory;
    };
    OwnView own_view_of(int member) const;

    /// Returns the CPUs that members may use, one of each core.
    const std::vector<int>& cpus() const { return cpus_; }

private:
    struct Shared;
    Shared& shared_by(int member) const;
    void sleep_until(const Counter& counter, std::uint64_t goal, double seconds) const;

    World& world_;
    int size_, me_;
    std::size_t bytes_;
    std::vector<int> cpus_;
    SharedMemory shared_;
    SharedMemory memory_;
    FormerCpus former_cpus_;
    std::uint64_t meetings_ = 0;
    std::uint64_t works_of_first_ = 0;
};

}  // namespace tutti
