// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/link_speeds.hpp"

#include <gtest/gtest.h>

#include "topology/machine/gpu_models.hpp"

namespace tutti {
namespace {

// Published for NCCL 2.28: 16 lanes of generation 3, 4, 5 and 6.
TEST(LinkSpeeds, PcieDoublesWithEachGeneration) {
    EXPECT_DOUBLE_EQ(pcie_GBps({8, 16}), 12);
    EXPECT_DOUBLE_EQ(pcie_GBps({16, 16}), 24);
    EXPECT_DOUBLE_EQ(pcie_GBps({32, 16}), 48);
    EXPECT_DOUBLE_EQ(pcie_GBps({64, 16}), 96);
    EXPECT_DOUBLE_EQ(pcie_GBps({32, 8}), 24);
}

TEST(LinkSpeeds, UnknownPcieLinksCountAsSixteenLanesOfGenerationThree) {
    EXPECT_DOUBLE_EQ(pcie_GBps({}), 12);
}

TEST(LinkSpeeds, NvlinkFollowsTheGpu) {
    EXPECT_DOUBLE_EQ(18 * nvlink_GBps(90), 370.8);
    EXPECT_DOUBLE_EQ(12 * nvlink_GBps(80), 240);
    EXPECT_NEAR(18 * nvlink_GBps(100), 721.8, 1e-9);
    EXPECT_DOUBLE_EQ(6 * nvlink_GBps(70), 120);
}

TEST(LinkSpeeds, LinksCarryWhatTheySayOrWhatTheirGpuDoes) {
    const Host host{.devices = {{.pci_id = "1002:7408"},  // MI250X
                                {.model = "gfx908"},
                                {.compute_capability = 90},
                                {.kind = DeviceKind::nvswitch}}};
    const auto link = [](LinkKind kind, int a, int b, double said = 0) {
        return Link{.kind = kind,
                    .a = {LinkEnd::Kind::device, a},
                    .b = {LinkEnd::Kind::device, b},
                    .count = 2,
                    .bandwidth_GBps = said};
    };
    EXPECT_DOUBLE_EQ(bandwidth_GBps_of(link(LinkKind::xgmi, 0, 0), host), 2 * 36);
    EXPECT_DOUBLE_EQ(bandwidth_GBps_of(link(LinkKind::xgmi, 1, 1), host), 2 * 24);
    EXPECT_DOUBLE_EQ(bandwidth_GBps_of(link(LinkKind::nvlink, 3, 2), host), 2 * 20.6);
    EXPECT_DOUBLE_EQ(bandwidth_GBps_of(link(LinkKind::nvlink, 2, 3, 7), host), 7);
}

TEST(LinkSpeeds, SocketsFollowTheProcessor) {
    EXPECT_DOUBLE_EQ(socket_GBps({"x86_64", "GenuineIntel", 6, 79}), 6);
    EXPECT_DOUBLE_EQ(socket_GBps({"x86_64", "GenuineIntel", 6, 85}), 10);
    EXPECT_DOUBLE_EQ(socket_GBps({"x86_64", "GenuineIntel", 6, 143}), 22);
    EXPECT_DOUBLE_EQ(socket_GBps({"x86_64", "AuthenticAMD", 23, 49}), 16);
    EXPECT_DOUBLE_EQ(socket_GBps({"ppc64le", "IBM", 0, 0}), 32);
}

// From the PCI ids database and the vendors' tables.
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
