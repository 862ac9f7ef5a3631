// SPDX-License-Identifier: Apache-2.0
// The text is a log, or logs of the ranks separated by zero bytes. Reading it gives arrivals that
// agree with each other, or a one-line error with a file.
#include <cmath>
#include <cstdint>

#include "tests/fuzz/demand.hpp"
#include "workloads/traces/stragglers.hpp"

namespace {

using namespace tutti;

void use(const Stragglers& found) {
    demand(!found.ranks.empty(), "a job has ranks");
    demand(found.calls >= 0 && found.begun >= 0, "no number of calls is negative");
    demand(found.spent_ns >= 0, "no time is negative: " + std::to_string(found.spent_ns));
    for (const RankArrivals& one : found.ranks) {
        demand(0 <= one.last && one.last <= one.calls, "a rank is last in its calls only");
        demand(one.expected_last <= static_cast<double>(one.calls) * 0.5 + 1e-6,
               "a call has two ranks or more");
        demand(one.caused_wait_ns >= 0 && one.deviation_ns >= 0,
               "no wait is negative: " + std::to_string(one.caused_wait_ns));
        demand(one.missing >= 0, "no rank is ahead of the furthest");
    }
    const auto size = static_cast<int>(found.ranks.size());
    for (const auto& rank : {found.slow_rank(), found.suspected_rank(), found.missing_rank()}) {
        demand(!rank || (0 <= *rank && *rank < size), "a rank of the job is named");
        if (rank) found.is_by_chance(*rank);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FolderInMemory folder("stragglers");
    Stragglers found;
    try {
        found = stragglers_in(folder.files_of_ranks(text_of(data, size)));
    } catch (const Error& error) {
        demand_one_line(error);
        return 0;
    }
    use(found);
    return 0;
}
