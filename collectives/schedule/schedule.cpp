// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/schedule.hpp"

#include <fmt/format.h>

#include <cassert>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace tutti {

Schedule::Schedule(Extent extent, Writer writer) : extent_(extent) {
    if (extent.ranks < 1 || extent.chunks < 1 || extent.steps < 0)
        throw Error(fmt::format(
            "invalid schedule size: {} ranks, {} chunks, {} steps; use at least 1 rank, "
            "1 chunk and 0 steps",
            extent.ranks, extent.chunks, extent.steps));
    phases_.push_back({extent.steps, 1, std::move(writer)});
}

void Schedule::refuse(int step, const Transfer& t) const {
    throw Error(fmt::format(
        "step {}: invalid transfer from rank {} to rank {} of {} chunks, starting at chunk {}: the "
        "schedule has ranks 0..{} and chunks 0..{}; use Ring::ahead and Ring::behind to compute "
        "neighbours",
        step, t.from.index, t.to.index, t.chunks.count, t.chunks.first, ranks() - 1, chunks() - 1));
}

void Schedule::write_step(int step, Step& out) const {
    if (step < 0 || step >= steps())
        throw Error(fmt::format(
            "step {} does not exist in a schedule of {} steps; use a step from 0 to steps() - 1",
            step, steps()));
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
