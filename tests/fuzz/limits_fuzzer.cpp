// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives limits or a one-line error with the file. Limits can be written, read
// again and printed, and give minimum times.
#include <algorithm>
#include <cmath>

#include "results/records/record.hpp"
#include "tests/fuzz/demand.hpp"
#include "workloads/limits/least_time.hpp"
#include "workloads/limits/limits_table.hpp"

namespace {

using namespace tutti;

void derive(const Limits& limits) {
    for (const Collective collective : all_collectives())
        for (const std::int64_t count : {0, 1, 100'000})
            for (const Placement& hosts : {Placement::one_node(4), Placement::in_nodes_of(4, 2)}) {
                const Call call{.collective = collective, .count = count};
                for (const Reach reach : {Reach::registered, Reach::unregistered})
                    demand(!std::isnan(least_time(limits, call, hosts, /*in_place=*/false, reach)),
                           "a least time is a number");
            }
}

void use(const Limits& limits, const FolderInMemory& folder) {
    demand(read_limits(folder.file("again", to_json_line(limits) + "\n")) == limits,
           "a line brings back the limits");
    best_of(limits, limits);
    limits_table(limits, {});
    derive(limits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FolderInMemory folder("limits");
    const std::string file = folder.file("limits", text_of(data, size));
    Limits limits;
    try {
        limits = read_limits(file);
    } catch (const Error& error) {
        demand_one_line(error);
        demand(std::string(error.what()).find(file) != std::string::npos, error.what());
        return 0;
    }
    use(limits, folder);
    return 0;
}
