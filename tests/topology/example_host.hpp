// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "topology/machine/machine.hpp"

namespace tutti {

/// Two packages of two cores with two threads each; a GPU near the second package, and a NIC with
/// unknown properties.
inline Host example_host() {
    Host host{.name = "example",
              .packages = {{"Model A", {0, 1}}, {"Model A", {2, 3}}},
              .numa_nodes = {{0, Bytes{4LL << 30}, {0, 1}}, {1, Bytes{6LL << 30}, {2, 3}}},
              .cores = {{{0, 4}}, {{1, 5}}, {{2, 6}}, {{3, 7}}},
              .caches = {{3, CacheKind::unified, Bytes{32 << 20}, {0, 1}},
                         {3, CacheKind::unified, Bytes{32 << 20}, {2, 3}}},
              .devices = {{DeviceKind::gpu, "0000:81:00.0", "10de:2335", {}, 1},
                          {DeviceKind::nic, "0000:a1:00.0", "15b3:1021", {"ib0", "mlx5_0"}, {}}}};
    for (int core = 0; core < 4; ++core)
        host.caches.push_back({1, CacheKind::data, Bytes{48 << 10}, {core}});
    return host;
}

}  // namespace tutti
