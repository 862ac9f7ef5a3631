// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/direct/direct_program.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace tutti {

void leave_out_implied_dependencies(DirectProgram& program) {
    std::vector<int> waited_for(program.published.size(), -1);
    const auto leave_out = [&](std::vector<Dependency>& dependencies) {
        std::ranges::sort(dependencies, [](const Dependency& a, const Dependency& b) {
            return a.steps != b.steps ? a.steps > b.steps : a.peer.index < b.peer.index;
        });
        std::erase_if(dependencies, [&](const Dependency& one) {
            int& waited = at(waited_for, one.peer);
            if (one.steps <= waited) return true;
            waited = one.steps;
            return false;
        });
    };
    for (DirectStep& step : program.steps) leave_out(step.dependencies);
    leave_out(program.last_readers);
}

DirectProgram compile_direct(World& world, const PlanRequest& request,
                             const BufferAccess& buffers) {
    const DirectTask task(request, world.rank(), buffers);
    return compile_direct(task, negotiate_pushes(world, push_terms(task)));
}

}  // namespace tutti
