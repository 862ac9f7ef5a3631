// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/gather_machine.hpp"

#include <gtest/gtest.h>

#include "topology/detect/detect.hpp"

namespace tutti {

TEST(GatherMachine, GivesEveryRankAllHostsOnce) {
    run_as_threads(3, 30, [](World& world) {
        const Machine machine = gather_machine(world);
        ASSERT_EQ(machine.hosts.size(), 1u);
        EXPECT_EQ(machine.hosts[0], detect_host());  // through JSON and back
    });
}

}  // namespace tutti
