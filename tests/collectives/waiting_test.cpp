// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectives/world/activity.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

// Whoever waits between calls has to say for whom, and in the midst of what.
TEST(Waiting, AtABarrierNamesTheRanksThatDidNotCome) {
    say_activity("all_reduce ring 4096 float");
    std::string report;
    try {
        run_as_threads(4, 0.5, [](World& world) {
            world.barrier();
            if (world.rank().index % 2 == 0) world.barrier();
        });
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Exit::time_out);
        report = error.what();
    }
    say_activity("");
    EXPECT_NE(report.find("waited 1 s for a barrier in all_reduce ring 4096 float: no answer from "
                          "ranks 1, 3"),
              std::string::npos)
        << report;
}

}  // namespace tutti
