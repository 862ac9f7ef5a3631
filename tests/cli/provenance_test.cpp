// SPDX-License-Identifier: Apache-2.0
#include "cli/provenance.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// No two facts are the same, so that an exchange is noticed.
HostFacts facts() {
    return {.name = "n0",
            .boot_id = "b",
            .kernel = "6.1",
            .cpu_model = "EPYC",
            .sockets = 3,
            .cores = 5,
            .smt = 2,
            .governor = "performance",
            .turbo = "off",
            .memory = {1024},
            .usable_cpus = {0, 1},
            .cpu_quota = 1.5,
            .usable_cores = 7,
            .virtualisation = "kvm",
            .container = "docker",
            .loadavg1 = 0.25};
}

TEST(Provenance, HasEveryFactOfAHost) {
    const HostRecord expected{.name = "n0",
                              .boot_id = "b",
                              .kernel = "6.1",
                              .cpu_model = "EPYC",
                              .sockets = 3,
                              .cores = 5,
                              .smt = "2",
                              .governor = "performance",
                              .turbo = "off",
                              .mem = {1024},
                              .cgroup_cpus = 1.5,
                              .virt = "kvm docker",
                              .loadavg1 = 0.25,
                              .topo_sha256 = "abc"};
    EXPECT_EQ(record_of(facts(), "abc"), expected);
    HostFacts metal = facts();
    metal.virtualisation = metal.container = "";
    metal.cpu_quota = std::nullopt;
    EXPECT_EQ(record_of(metal, "abc").virt, "");
    EXPECT_EQ(record_of(metal, "abc").cgroup_cpus, 0) << "there is no quota";
}

}  // namespace
}  // namespace tutti
