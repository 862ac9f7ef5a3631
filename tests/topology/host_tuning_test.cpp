// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/host_tuning.hpp"

#include <gtest/gtest.h>

#include "tests/topology/example_host.hpp"

namespace tutti {
namespace {

TEST(HostTuning, StreamsWhereACallFillsTheLastCachesOfAllCores) {
    EXPECT_EQ(tuning_from(example_host()).stream_from, Bytes{2 * (32 << 20)});  // two of them
}

TEST(HostTuning, TakesWhateverLevelIsTheLast) {
    Host host = example_host();
    std::erase_if(host.caches, [](const Cache& cache) { return cache.level == 3; });
    host.caches.push_back({1, CacheKind::instruction, Bytes{1 << 20}, {0}});
    EXPECT_EQ(tuning_from(host).stream_from, Bytes{4 * (48 << 10)});
}

TEST(HostTuning, HasAValueWhereNoCacheIsKnown) {
    EXPECT_GT(tuning_from(Host{}).stream_from, Bytes{0});
}

}  // namespace
}  // namespace tutti
