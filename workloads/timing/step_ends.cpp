// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/step_ends.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr std::int64_t unmeasured_calls = 8;  // the first ones after a sleep are slow

// The calls of one rank: whose ends belong to which.
struct NotedCalls {
    std::vector<StepEnd> ends;
    std::vector<std::size_t> first;  // of each call in `ends`
    std::vector<std::int64_t> begin_ns, end_ns;
};

NotedCalls note_calls(World& world, Operation& operation, std::int64_t calls,
                      const std::function<void()>& before_call) {
    NotedCalls noted;
    const auto note_call = [&] {
        if (before_call) before_call();
        noted.first.push_back(noted.ends.size());
        world.barrier();
        noted.begin_ns.push_back(now_ns());
        operation.run();
        noted.end_ns.push_back(now_ns());
    };
    operation.note_step_ends(&noted.ends);
    for (std::int64_t i = 0; i < unmeasured_calls; ++i) note_call();
    const std::size_t steps = noted.ends.size() / unmeasured_calls;
    noted = {};
    noted.ends.reserve(steps * as_size(calls));
    for (std::int64_t i = 0; i < calls; ++i) note_call();
    operation.note_step_ends(nullptr);
    noted.first.push_back(noted.ends.size());
    return noted;
}

}  // namespace

std::vector<std::int64_t> step_ends_of(World& world, Operation& operation, std::int64_t calls,
                                       const std::function<void()>& before_call) {
    const NotedCalls noted = note_calls(world, operation, calls, before_call);
    int last_step = -1;
    for (const StepEnd& end : noted.ends) last_step = std::max(last_step, end.step);
    for (const int of_rank : gather_all(world, last_step)) last_step = std::max(last_step, of_rank);

    // A row for each call, a column for each step and one for the call. A step in which this rank
    // has nothing to do ends with the one before.
    const std::size_t columns = as_size(last_step + 2);
    std::vector<std::int64_t> mine(as_size(calls) * columns);
    for (std::size_t call = 0; call < as_size(calls); ++call) {
        const std::span row(&mine[call * columns], columns);
        for (std::size_t i = noted.first[call]; i < noted.first[call + 1]; ++i) {
            std::int64_t& end = row[as_size(noted.ends[i].step)];
            end = std::max(end, noted.ends[i].ns - noted.begin_ns[call]);
        }
        row.back() = noted.end_ns[call] - noted.begin_ns[call];
        for (std::size_t i = 1; i < columns; ++i) row[i] = std::max(row[i], row[i - 1]);
    }

    std::vector<std::int64_t> all(mine.size() * as_size(world.size()));
    world.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    std::vector<std::int64_t> ends(columns);
    for (std::size_t column = 0; column < columns; ++column) {
        std::vector<std::int64_t> slowest(as_size(calls));
        for (std::size_t i = column; i < all.size(); i += columns) {
            std::int64_t& of_call = slowest[i % mine.size() / columns];
            of_call = std::max(of_call, all[i]);
        }
        ends[column] = median(slowest);
    }
    return ends;
}

}  // namespace tutti
