// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "workloads/traces/trace_program.hpp"

namespace tutti {

void stretch(Program& program, double factor) {
    for (auto& tasks : program.tasks)
        for (Task& task : tasks)
            for (std::int64_t& ns : task.compute_ns)
                ns = std::llround(static_cast<double>(ns) * factor);
}

Program repeated(const Program& program, int times) {
    if (times == 1) return program;
    Program all = program;
    const int calls = static_cast<int>(program.calls.size());
    // All is waited for between two rounds, so they can use one memory.
    for (int call = 0; call < calls; ++call) {
        int& memory = all.calls[static_cast<std::size_t>(call)].memory;
        if (memory < 0) memory = (1 << 20) + call;
    }
    const auto first_round = all.calls;
    for (auto& tasks : all.tasks) tasks.clear();
    for (int round = 0; round < times; ++round) {
        if (round > 0) all.calls.insert(all.calls.end(), first_round.begin(), first_round.end());
        for (std::size_t role = 0; role < program.tasks.size(); ++role)
            for (Task task : program.tasks[role]) {
                if (task.call >= 0) task.call += round * calls;
                // Step k now has the recorded steps k times to k times + times - 1.
                const std::vector<std::int64_t> recorded = task.compute_ns;
                for (std::size_t k = 0; k < recorded.size(); ++k)
                    task.compute_ns[k] = recorded[(k * static_cast<std::size_t>(times) +
                                                   static_cast<std::size_t>(round)) %
                                                  recorded.size()];
                all.tasks[role].push_back(std::move(task));
            }
    }
    return all;
}

}  // namespace tutti
