// SPDX-License-Identifier: Apache-2.0
// Writes an algorithm as a schedule, then proves and counts it, without MPI or buffers. Writes it
// as JSON, of which scripts/draw.py makes a picture:
//   own_schedule [RANKS] [JSON]
//   draw.py schedule < own.json > own.svg
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <tutti/error.hpp>
#include <tutti/schedule.hpp>

namespace {

using namespace tutti;

// All-gather by two streams: each rank's chunk goes around the ring in both directions at once, so
// that it has met all ranks after half a round. ceil((P-1)/2) steps; each rank sends and receives
// P-1 chunks.
Schedule two_way_all_gather(int ranks) {
    const Ring ring{ranks};
    const auto write = [ring, ranks](int hop, Step& step) {
        for (const Rank r : all_ranks(ranks)) {
            const Rank before = ring.behind(r, hop), after = ring.ahead(r, hop);
            step.copy({.chunks = chunk_of(before), .from = r, .to = ring.next(r)});
            if (2 * (hop + 1) < ranks)  // otherwise both streams bring the same chunk
                step.copy({.chunks = chunk_of(after), .from = r, .to = ring.behind(r, 1)});
        }
    };
    return Schedule({.ranks = ranks, .chunks = ranks, .steps = ranks / 2}, write);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const int ranks = argc > 1 ? std::atoi(argv[1]) : 6;
        if (ranks < 1) throw Error("usage: own_schedule [RANKS] [JSON], with 1 rank or more");
        const Schedule schedule = two_way_all_gather(ranks);
        const CollectiveSpec spec{Collective::all_gather, ranks};

        if (const auto fault = find_fault(schedule, spec)) throw Error(*fault, Exit::wrong_result);
        const Counts counts = count(schedule, spec);
        std::printf(
            "%d ranks: proved; %d steps (the least of any algorithm: %d), %ld chunks sent by the "
            "busiest rank\n",
            ranks, counts.steps, lower_bound(Collective::all_gather, ranks).steps,
            counts.most_sent());
        if (argc > 2) std::ofstream(argv[2]) << to_json(schedule);
    } catch (const Error& error) {
        std::fprintf(stderr, "own_schedule: %s\n", error.what());
        return static_cast<int>(error.code());
    }
    return 0;
}
