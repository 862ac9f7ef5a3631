// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/schedule.hpp"

#include <cassert>
#include <numeric>
#include <utility>

namespace tutti {

Schedule::Schedule(Extent extent, Writer writer) : extent_(extent) {
    phases_.push_back({extent.steps, 1, std::move(writer)});
}

void Schedule::write_step(int step, Step& out) const {
    assert(step >= 0 && step < steps());
    for (const Phase& phase : phases_) {
        if (step >= phase.steps) {
            step -= phase.steps;
            continue;
        }
        if (phase.parts == 1) return phase.writer(step, out);
        struct Finer {
            Step& out;
            int parts;
        } finer{out, phase.parts};
        Step inner(
            [](void* context, const Transfer& coarse) {
                auto& [outer, parts] = *static_cast<Finer*>(context);
                Transfer fine = coarse;
                fine.chunks = {coarse.chunks.first * parts, coarse.chunks.count * parts};
                outer.add(fine);
            },
            &finer, out.only());
        return phase.writer(step, inner);
    }
}

Schedule Schedule::finer(int parts) const {
    Schedule fine = *this;
    fine.extent_.chunks *= parts;
    for (Phase& phase : fine.phases_) phase.parts *= parts;
    return fine;
}

Schedule Schedule::then(const Schedule& next) const {
    assert(ranks() == next.ranks());
    const int chunks_of_both = std::lcm(chunks(), next.chunks());
    Schedule both = finer(chunks_of_both / chunks());
    const Schedule after = next.finer(chunks_of_both / next.chunks());
    both.phases_.insert(both.phases_.end(), after.phases_.begin(), after.phases_.end());
    both.extent_.steps += next.steps();
    return both;
}

}  // namespace tutti
