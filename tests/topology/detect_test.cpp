// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/detect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "topology/detect/sysfs_host.hpp"
#include "topology/machine/fingerprint.hpp"

// Properties of every machine that runs the tests.
namespace tutti {
namespace {

bool holds_core(const CoreSet& cores, int core) { return std::ranges::binary_search(cores, core); }

}  // namespace

TEST(ThisHost, HasCoresWithThreadsOfTheirOwn) {
    const Host host = detect_host();
    ASSERT_FALSE(host.cores.empty());
    std::set<int> seen;
    for (const Core& core : host.cores) {
        EXPECT_FALSE(core.threads.empty());
        for (const int thread : core.threads) EXPECT_TRUE(seen.insert(thread).second) << thread;
    }
}

TEST(ThisHost, GivesEachCoreOnePackageACacheAndMemory) {
    const Host host = detect_host();
    if (host.caches.empty()) GTEST_SKIP() << "the kernel lists no caches here";
    for (int core = 0; core < static_cast<int>(host.cores.size()); ++core) {
        const auto near = [&](const auto& part) { return holds_core(part.cores, core); };
        EXPECT_EQ(std::ranges::count_if(host.packages, near), 1) << core;
        EXPECT_GE(std::ranges::count_if(host.caches, near), 1) << core;
        EXPECT_GE(std::ranges::count_if(host.numa_nodes, near), 1) << core;
    }
}

TEST(ThisHost, IsTheSameTwice) {
    EXPECT_EQ(fingerprint(detect_structure()), fingerprint(detect_structure()));
}

TEST(ThisHost, IsValidJson) {
    const Host host = detect_host();
    const auto json = nlohmann::json::parse(to_json(Machine{.hosts = {host}, .network = {}}));
    EXPECT_EQ(json["hosts"][0]["cores"].size(), host.cores.size());
}

TEST(ThisHost, HasUsableCoresAmongItsCores) {
    const HostFacts facts = host_facts();
    EXPECT_FALSE(facts.name.empty());
    EXPECT_FALSE(facts.usable_cpus.empty());
    EXPECT_GE(usable_cores(), 1);
    EXPECT_LE(usable_cores(), facts.cores);
}

}  // namespace tutti
