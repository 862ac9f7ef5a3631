// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <random>

#include "tests/topology/machines.hpp"

namespace tutti::machines {

/// Returns a random host: GPUs with random links on one or two sockets, with and without switches.
inline Host random_host(int gpus, unsigned seed) {
    std::mt19937 draw(seed);
    const auto below = [&](unsigned n) { return static_cast<int>(draw() % n); };
    Host host{.name = "random", .cpu = below(2) ? skylake : rome};
    const int sockets = 1 + below(2);
    for (int s = 0; s < 2 * sockets; ++s) add_switch(host, s / 2, gen3_x16);
    for (int gpu = 0; gpu < gpus; ++gpu) {
        const int s = below(static_cast<unsigned>(2 * sockets));
        if (below(4))
            add_gpu(host, s / 2, gen3_x16, s, 70);
        else
            add_gpu(host, s / 2, gen4_x16, {}, 70);
    }
    const unsigned sparseness = 1 + static_cast<unsigned>(below(4));
    for (int a = 0; a < gpus; ++a)
        for (int b = a + 1; b < gpus; ++b)
            if (below(sparseness) == 0) join(host, LinkKind::nvlink, a, b, 1 + below(3));
    for (int n = below(4); n > 0; --n) {
        const int s = below(static_cast<unsigned>(2 * sockets));
        add_nic(host, s / 2, gen3_x16, s, 100);
    }
    return host;
}

}  // namespace tutti::machines
