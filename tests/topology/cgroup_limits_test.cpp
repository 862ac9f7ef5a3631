// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/fixture_tree.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {

TEST(CpuQuota, IsNoneWithoutCgroupsOrLimit) {
    const FixtureTree tree;
    EXPECT_EQ(cpu_quota(tree.root()), std::nullopt);
    tree.write("proc/self/cgroup", "0::/");
    tree.write("sys/fs/cgroup/cpu.max", "max 100000");
    EXPECT_EQ(cpu_quota(tree.root()), std::nullopt);
}

TEST(CpuQuota, IsTheSmallestOnTheWayUp) {
    const FixtureTree tree;
    tree.write("proc/self/cgroup", "0::/job/step");
    tree.write("sys/fs/cgroup/job/step/cpu.max", "400000 100000");
    tree.write("sys/fs/cgroup/job/cpu.max", "150000 100000");
    EXPECT_EQ(cpu_quota(tree.root()), 1.5);
}

TEST(CpuQuota, IsReadFromVersion1) {
    const FixtureTree tree;
    tree.write("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/outside/the/container\n0::/");
    tree.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000");
    tree.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
    EXPECT_EQ(cpu_quota(tree.root()), 2.0);
    tree.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(cpu_quota(tree.root()), std::nullopt);
}

TEST(Virtualisation, IsEmptyOnBareMetal) {
    const FixtureTree tree;
    tree.write("proc/cpuinfo", "flags : fpu sse2");
    tree.write("sys/class/dmi/id/sys_vendor", "Amazon EC2");
    EXPECT_EQ(virtualisation(tree.root()), "");
}

TEST(Virtualisation, NamesTheHypervisorWhereItCan) {
    const FixtureTree tree;
    tree.write("proc/cpuinfo", "flags : fpu hypervisor");
    EXPECT_EQ(virtualisation(tree.root()), "vm");
    tree.write("sys/class/dmi/id/product_name", "VMware Virtual Platform");
    EXPECT_EQ(virtualisation(tree.root()), "vmware");
}

TEST(Container, IsKnownByTheFilesItsRuntimeLeaves) {
    const FixtureTree tree;
    EXPECT_EQ(container(tree.root()), "");
    tree.write(".dockerenv", "");
    EXPECT_EQ(container(tree.root()), "docker");
    tree.write("run/systemd/container", "lxc");
    EXPECT_EQ(container(tree.root()), "lxc");
}

}  // namespace tutti
