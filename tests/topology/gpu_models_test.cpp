// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/gpu_models.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// From the PCI ids database and the makers' tables.
TEST(GpuModels, KnowTheirCapability) {
    EXPECT_EQ(compute_capability_of("10de:15f9"), 60);     // P100
    EXPECT_EQ(compute_capability_of("10de:1db1"), 70);     // V100
    EXPECT_EQ(compute_capability_of("10de:20b2"), 80);     // A100
    EXPECT_EQ(compute_capability_of("10de:2235"), 86);     // A40
    EXPECT_EQ(compute_capability_of("10de:2330"), 90);     // H100
    EXPECT_EQ(compute_capability_of("10de:2335"), 90);     // H200
    EXPECT_EQ(compute_capability_of("10de:2901"), 100);    // B200
    EXPECT_EQ(instruction_set_of("1002:738c"), "gfx908");  // MI100
    EXPECT_EQ(instruction_set_of("1002:7408"), "gfx90a");  // MI250X
    EXPECT_EQ(instruction_set_of("1002:74a1"), "gfx942");  // MI300X
}

TEST(GpuModels, AreUnknownOtherwise) {
    for (const char* id : {"", "10de:", "10de:0001", "10de:xyz", "8086:2330", "1002:2330"})
        EXPECT_EQ(compute_capability_of(id), 0) << id;
    for (const char* id : {"", "1002:", "1002:0001", "10de:7408"})
        EXPECT_EQ(instruction_set_of(id), "") << id;
}

}  // namespace
}  // namespace tutti
