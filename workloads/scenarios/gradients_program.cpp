// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/scenarios/ddp.hpp"
#include "workloads/traces/trace_program.hpp"

namespace tutti {
namespace {

struct OfRank {
    std::vector<ComputeTimes> passes;
    std::vector<std::int64_t> optimizer_ns;
};

std::vector<OfRank> by_rank(const GradientTrace& trace) {
    std::vector<OfRank> ranks(static_cast<std::size_t>(trace.recorded_ranks()));
    for (const auto& one : trace.iterations) {
        OfRank& rank = ranks.at(static_cast<std::size_t>(one.rank));
        rank.passes.push_back(step_times_of_trace(trace.parameters.size(), one.ready_ns,
                                                  one.forward_ns, one.backward_ns));
        rank.optimizer_ns.push_back(one.optimizer_ns);
    }
    return ranks;
}

}  // namespace

Program program_of(const GradientTrace& trace, const std::string& name,
                   std::span<const Bucket> buckets, int ranks) {
    const Model model{.name = name,
                      .parameters = trace.parameters,
                      .ready_order = trace.ready_order,
                      .buffers = trace.buffers,
                      .transformer = {},
                      .tables = {}};
    Program program;
    const auto recorded = by_rank(trace);
    for (const OfRank& one : recorded) {
        Program alike = ddp_program(model, trace.type, buckets, one.passes, ranks);
        auto& tasks = alike.tasks.front();
        if (std::ranges::max(one.optimizer_ns) > 0)
            tasks.push_back({.kind = Task::Kind::compute,
                             .phase = Task::Phase::optimizer,
                             .compute_ns = one.optimizer_ns});
        if (program.role_of.empty())
            program = std::move(alike);
        else
            program.tasks.push_back(std::move(tasks));
    }
    for (std::size_t rank = 0; rank < program.role_of.size(); ++rank)
        program.role_of[rank] = static_cast<int>(rank % recorded.size());
    return program;
}

}  // namespace tutti
