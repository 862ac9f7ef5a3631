// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/link_speeds.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tutti
