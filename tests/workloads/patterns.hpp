// SPDX-License-Identifier: Apache-2.0
// Checks that the tests of all patterns of parallelism share.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "base/index.hpp"
#include "tests/base/messages.hpp"
#include "tests/topology/shared_data.hpp"
#include "workloads/program/ideal_run.hpp"
#include "workloads/program/program.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {

/// Requires a valid program without a circle of waiting ranks, with or without buffered messages.
inline void expect_sound(const Program& program) {
    SCOPED_TRACE(program.name);
    ASSERT_NO_THROW(check(program));
    ASSERT_NO_THROW(ideal_run(program, SendMode::buffered));
    ASSERT_NO_THROW(ideal_run(program, SendMode::synchronous));
}

/// Returns the bytes of all calls of a rank that `counts` accepts: of each the whole message in the
/// sense of nccl-tests.
inline std::int64_t message_bytes(
    const Program& program, Rank rank,
    const std::function<bool(const GroupCall&, Task::Phase)>& counts) {
    std::int64_t bytes = 0;
    for (const Task& task : program.tasks_of(rank)) {
        if (task.kind != Task::Kind::start) continue;
        const GroupCall& one = at(program.calls, task.call);
        const auto& group = at(program.groups, one.group);
        if (counts(one, task.phase)) bytes += total_bytes(one.call, static_cast<int>(group.size()));
    }
    return bytes;
}

inline std::int64_t message_bytes(const Program& program, Rank rank, Collective collective) {
    return message_bytes(program, rank, [=](const GroupCall& one, Task::Phase) {
        return one.call.collective == collective;
    });
}

/// The operations of the calls whose label begins so.
inline std::multiset<Op> ops_of(const Program& program, std::string_view label) {
    std::multiset<Op> ops;
    for (const GroupCall& one : program.calls)
        if (one.label.starts_with(label)) ops.insert(one.call.op);
    return ops;
}

/// There are such calls, and all have this operation.
inline void expect_op(const Program& program, std::string_view label, Op op) {
    const auto ops = ops_of(program, label);
    EXPECT_GT(ops.size(), 0U) << label;
    EXPECT_EQ(ops.count(op), ops.size()) << label;
}

/// A row of the workload's table with these settings, as threads: every method that was asked for
/// does it with right results.
inline void expect_right_results(std::string_view name, int ranks,
                                 const std::map<std::string, std::string>& typed) {
    const Workload& row = find_workload(name);
    const Settings asked(row.settings, typed);
    ASSERT_NO_THROW(row.check(asked));
    run_as_threads(ranks, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = row.make(asked, {.planner = planner});
        const auto methods = methods_named(
            {.algorithms = {"ring", "tree"}, .transports = {"shm"}, .baselines = {"none"}});
        const StepProtocol protocol{.min_rounds = 2, .max_rounds = 2};
        int done = 0;
        for (const TrainingStep& step : run_scenario(world, *scenario, methods, protocol)) {
            if (step.skipped) continue;
            ++done;
            EXPECT_EQ(step.check.state, CheckState::ok) << name << " " << step.key.method;
        }
        EXPECT_GT(done, 0) << name;
    });
}

/// Why the row does not take these settings; "" if it does. `ranks` 0: before there are any.
inline std::string refusal_of(std::string_view name, int ranks,
                              const std::map<std::string, std::string>& typed) {
    const Workload& row = find_workload(name);
    const Settings asked(row.settings, typed);
    return refusal_by([&] {
        row.check(asked);
        if (ranks > 0)
            run_as_threads(ranks, 60, [&](World& world) {
                Planner planner(world);
                row.make(asked, {.planner = planner});
            });
    });
}

/// The row refuses these settings in one line that has these words in it.
inline void expect_refusal(std::string_view name, int ranks,
                           const std::map<std::string, std::string>& typed,
                           std::string_view words) {
    const std::string reason = refusal_of(name, ranks, typed);
    EXPECT_NE(reason.find(words), reason.npos) << name << ": " << reason;
}

/// Totals of a file of AICB (Alibaba's communication benchmark): bytes by operation, group and the
/// first word of its stage; and how often.
struct AicbTotal {
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
};
using AicbTotals = std::map<std::tuple<std::string, std::string, std::string>, AicbTotal>;

inline AicbTotals aicb_totals(const std::filesystem::path& file) {
    AicbTotals totals;
    std::istringstream lines(content_of(file));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string operation, group, members, bytes, stage;
        std::getline(fields, operation, ',');
        std::getline(fields, group, ',');
        std::getline(fields, members, ',');
        std::getline(fields, bytes, ',');
        std::getline(fields, stage, ',');
        if (!operation.starts_with("CommType.") || !group.starts_with("CommGroup.")) continue;
        auto& total =
            totals[{operation.substr(9), group.substr(10), stage.substr(0, stage.find('.'))}];
        ++total.calls;
        total.bytes += std::stoll(bytes);
    }
    return totals;
}

}  // namespace tutti

/// Names the totals of a file of AICB, or skips the test.
#define AICB_OR_SKIP(totals, name)                                               \
    const auto totals##_file = tutti::shared_file("data/traces/aicb/" name);     \
    if (!totals##_file) GTEST_SKIP() << "no shared/data/traces/aicb/" << (name); \
    auto totals = tutti::aicb_totals(*totals##_file)
