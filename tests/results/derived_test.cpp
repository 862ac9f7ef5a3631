// SPDX-License-Identifier: Apache-2.0
// What is worked out of a step's times, and how single characters leave a cell of a table.
#include <gtest/gtest.h>

#include <sstream>

#include "results/records/step.hpp"
#include "results/tables/csv.hpp"
#include "samples.hpp"

namespace tutti {
namespace {

TrainingStep derived(std::int64_t compute, std::int64_t communication, std::int64_t exposed,
                     std::int64_t computing) {
    TrainingStep step;
    step.compute.p50 = compute;
    step.communication.p50 = communication;
    step.exposed.p50 = exposed;
    step.computing.p50 = computing;
    derive(step);
    return step;
}

// Overlap is the share of the communication that computing hides: all of it 1, nothing 0.
TEST(Derived, OverlapIsTheHiddenShareOfTheCommunication) {
    EXPECT_DOUBLE_EQ(derived(100, 80, 20, 100).overlap, 0.75);
    EXPECT_DOUBLE_EQ(derived(100, 80, 0, 100).overlap, 1);
    EXPECT_DOUBLE_EQ(derived(100, 80, 80, 100).overlap, 0);
    EXPECT_DOUBLE_EQ(derived(100, 0, 0, 100).overlap, 1);
}

TEST(Derived, SlowdownIsComputingDuringCommunicationOverComputingAlone) {
    EXPECT_DOUBLE_EQ(derived(100, 80, 20, 125).slowdown, 1.25);
    EXPECT_DOUBLE_EQ(derived(0, 80, 20, 0).slowdown, 1);
}

// No step is shorter than its longer part.
TEST(Derived, BoundIsTheLongerPart) {
    EXPECT_DOUBLE_EQ(derived(100, 80, 20, 100).bound_ns, 100);
    EXPECT_DOUBLE_EQ(derived(60, 80, 20, 60).bound_ns, 80);
}

// Each of them alone would end a cell or a row.
TEST(Csv, QuotesEachCharacterThatWouldBreakACell) {
    for (const std::string reason : {"a,b", "a\nb", "a\rb"}) {
        Point point = skipped_point();
        point.skipped = reason;
        std::ostringstream out;
        write_csv(out, {.points = {point}});
        EXPECT_TRUE(holds(out.str(), ",\"" + reason + "\","));
    }
}

}  // namespace
}  // namespace tutti
