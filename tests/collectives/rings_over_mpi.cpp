// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes: each maps the rings of shared memory at different addresses, and has a
// device whose memory the host cannot access. Started by rings_over_mpi_test.py.
#include <cstdio>

#include "collectives/transport/messages/mpi.hpp"
#include "on_far_device.hpp"

namespace {

using namespace tutti;

std::int64_t wrong_elements(World& world) {
    test::FarDevice device(static_cast<unsigned>(world.rank().index));
    Planner planner(world);
    std::int64_t wrong = 0;
    for (const Algorithm& algorithm : catalog())
        for (const std::int64_t count : {1, 1030, 700'000}) {  // the last in several pieces
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = world.size()}))
                continue;
            if (count > 10'000 && algorithm.name != "ring") continue;
            const Call call{.collective = algorithm.collective, .count = count};
            wrong += test::wrong_elements(planner, device, "shm", {call, &algorithm});
        }
    return wrong;
}

}  // namespace

int main() {
    try {
        MpiSession session;
        World& world = session.world();
        std::int64_t wrong = 0;
        for (const std::int64_t of_rank : gather_all(world, wrong_elements(world)))
            wrong += of_rank;
        if (world.is_first())
            std::printf("%d processes, %lld elements are wrong\n", world.size(),
                        static_cast<long long>(wrong));
        return wrong == 0 && !world.one_process() ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
