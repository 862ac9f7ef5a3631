// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx/ucx_worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "collectives/transport/ucx/ucx.hpp"

namespace tutti {
namespace {

// Naming the devices puts a worker on trial; this name means any of them.
constexpr const char* all_devices = "all";

TEST(UcxWorkerOnTrial, LeavesWithoutWaitingForOthers) {
    std::atomic<bool> has_left = false;
    run_as_threads(2, 20, [&](World& world) {
        auto worker = std::make_unique<UcxWorker>(world, UcxReach::all_ranks, all_devices);
        for (int look = 0; !world.is_first() && !has_left && look < 500; ++look)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(has_left, !world.is_first());
        worker.reset();
        has_left = true;
    });
}

// Some ranks notice that a link is dead, and all meet to agree on it.
TEST(UcxWorkerOnTrial, LosesRanksWithoutAnErrorUntilItIsTrusted) {
    run_as_threads(2, 20, [](World& world) {
        UcxWorker worker(world, UcxReach::all_ranks, all_devices);
        worker.lose({1 - world.rank().index}, "dead link");
        world.barrier();
        EXPECT_NO_THROW(worker.make_progress());
        EXPECT_THROW(worker.throw_if_lost(), Error);
        world.barrier();
        worker.trust();
        EXPECT_THROW(worker.make_progress(), Error);
    });
}

// Between these two threads, UCX would use shared memory.
TEST(UcxWorkerForOtherHosts, OpensNoSharedMemory) {
    if (std::getenv("UCX_TLS") != nullptr) GTEST_SKIP() << "UCX_TLS is set";
    run_as_threads(2, 20, [](World& world) {
        UcxWorker worker(world, UcxReach::other_hosts);
        EXPECT_EQ(worker.connections(), "") << "connects to a rank of this host";
        worker.connect({1 - world.rank().index});
        EXPECT_NE(worker.connections(), "");
        EXPECT_EQ(worker.connections().find("/memory"), std::string::npos) << worker.connections();
    });
}

}  // namespace
}  // namespace tutti
