// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace tutti {
namespace {

// Reads an AwakeTime for `seconds` of the wall clock and returns its seconds.
double awake_seconds_during(double seconds) {
    AwakeTime time;
    double awake = 0;
    for (const std::int64_t began = now_ns(); seconds_since(began) < seconds; usleep(1000))
        awake = time.look_seconds();
    return awake;
}

}  // namespace

TEST(AwakeTime, RunsWithTheClock) { EXPECT_NEAR(awake_seconds_during(0.3), 0.3, 0.15); }

// A deadline must not pass while all ranks are suspended.
TEST(AwakeTime, CountsASecondOfASuspension) {
    int result[2];
    ASSERT_EQ(pipe(result), 0);
    const pid_t child = fork();
    if (child == 0) {
        const double awake = awake_seconds_during(4);
        _exit(write(result[1], &awake, sizeof awake) == sizeof awake ? 0 : 1);
    }
    usleep(300'000);
    kill(child, SIGSTOP);
    usleep(3'000'000);
    kill(child, SIGCONT);
    double awake = 0;
    ASSERT_EQ(read(result[0], &awake, sizeof awake), static_cast<ssize_t>(sizeof awake));
    waitpid(child, nullptr, 0);
    EXPECT_GT(awake, 1.0);
    EXPECT_LT(awake, 2.5);
}

}  // namespace tutti
