// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/fixture_tree.hpp"
#include "topology/detect/sysfs_devices.hpp"

namespace tutti {
namespace {

const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";

void write_link(const FixtureTree& tree, int from, int to, int type, int min, int max) {
    const std::string folder =
        nodes + std::to_string(from) + "/io_links/" + std::to_string(to) + "/properties";
    tree.write(folder, "type " + std::to_string(type) + "\nnode_from " + std::to_string(from) +
                           "\nnode_to " + std::to_string(to) + "\nmin_bandwidth " +
                           std::to_string(min) + "\nmax_bandwidth " + std::to_string(max));
}

// Processors and two dies of an MI250X, joined by four links; one of them to the processors.
Host two_dies(const FixtureTree& tree) {
    tree.write(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0");
    tree.write(
        nodes + "1/properties",
        "cpu_cores_count 0\ngfx_target_version 90010\nlocation_id 49408\ndomain 0");  // c1:00
    tree.write(
        nodes + "2/properties",
        "cpu_cores_count 0\ngfx_target_version 90010\nlocation_id 50688\ndomain 0");  // c6:00
    write_link(tree, 1, 0, 11, 36000, 36000);
    write_link(tree, 1, 2, 11, 50000, 200000);
    write_link(tree, 2, 1, 11, 50000, 200000);
    write_link(tree, 2, 0, 2, 0, 0);  // PCIe
    return {.numa_nodes = {{3, {}, {0}}},
            .devices = {{DeviceKind::gpu, "0000:c6:00.0"}, {DeviceKind::gpu, "0000:c1:00.0"}}};
}

}  // namespace

TEST(SysfsXgmi, FindsTheLinksOfEachPairOnce) {
    const FixtureTree tree;
    const Host host = with_sysfs_xgmi(two_dies(tree), tree.root());
    const LinkEnd first{LinkEnd::Kind::device, 1}, second{LinkEnd::Kind::device, 0};
    const LinkEnd processors{LinkEnd::Kind::numa_node, 3};
    EXPECT_EQ(host.links, (std::vector<Link>{{LinkKind::xgmi, first, processors, 1, 36, 0},
                                             {LinkKind::xgmi, first, second, 4, 144, 0}}));
    EXPECT_EQ(host.devices[0].model, "gfx90a");
}

TEST(SysfsXgmi, IsNoneWithoutTheDriver) {
    const FixtureTree tree;
    EXPECT_TRUE(with_sysfs_xgmi({}, tree.root()).links.empty());
}

}  // namespace tutti
