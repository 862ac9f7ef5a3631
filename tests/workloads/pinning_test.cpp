// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/pinning.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

#include "base/index.hpp"

namespace tutti {
namespace {

// The CPUs that the calling thread may use; it gets them back at the end.
class Affinity {
public:
    Affinity() { sched_getaffinity(0, sizeof former_, &former_); }
    ~Affinity() { sched_setaffinity(0, sizeof former_, &former_); }
    Affinity(const Affinity&) = delete;
    Affinity& operator=(const Affinity&) = delete;

private:
    cpu_set_t former_;
};

// The only CPU of the calling thread, or -1.
int cpu_of_thread() {
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    if (CPU_COUNT(&mine) != 1) return -1;
    int cpu = 0;
    while (!CPU_ISSET(cpu, &mine)) ++cpu;
    return cpu;
}

}  // namespace

TEST(Pinning, SharesCoresOutEvenlyAndNeighboursTogether) {
    const auto cores = cpus_of_cores();
    for (const int ranks : {1, 2, 3, 4, 7}) {
        std::vector<int> cpus(static_cast<std::size_t>(ranks));
        run_as_threads(ranks, 60, [&](World& world) {
            const Affinity former;
            const int most = pin_ranks(world);
            const int used = std::min<int>(ranks, static_cast<int>(cores.size()));
            EXPECT_EQ(most, (ranks + used - 1) / used);
            at(cpus, world.rank().index) = cpu_of_thread();
            world.barrier();
        });
        std::vector<long> members;
        for (const int core : cores)
            if (const long many = std::ranges::count(cpus, core); many > 0) members.push_back(many);
        const auto [least, most] = std::ranges::minmax(members);
        EXPECT_LE(most - least, 1) << ranks << " ranks";
        EXPECT_EQ(members.size(), std::min(cores.size(), static_cast<std::size_t>(ranks)));
        auto once = cpus;
        once.erase(std::unique(once.begin(), once.end()), once.end());
        EXPECT_EQ(once.size(), members.size()) << "neighbours are parted";
        EXPECT_EQ(std::ranges::count(cpus, -1), 0);
    }
}

TEST(Pinning, LeavesRanksBoundWhereTheLauncherHasBoundThem) {
    const auto cores = cpus_of_cores();
    if (cores.size() < 2) GTEST_SKIP() << "one core: nothing to choose";
    run_as_threads(2, 60, [&](World& world) {
        const Affinity former;
        const int mine = cores[1 - static_cast<std::size_t>(world.rank().index)];
        run_on(mine);
        EXPECT_EQ(pin_ranks(world), 0);
        EXPECT_EQ(cpu_of_thread(), mine);
        EXPECT_EQ(describe_pinning(0), "");
    });
}

}  // namespace tutti
