// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_notes.hpp"

namespace tutti {

std::vector<std::string> reading_notes(const BenchOptions& options, const World& world) {
    std::vector<std::string> notes;
    notes.push_back(std::string("time: median over calls of the slowest rank; ") +
                    (options.sweep.input == InputState::rewritten
                         ? "each rank rewrites its input before each call, outside of the time"
                         : "input is not rewritten between calls, so what fits the caches is read "
                           "from them (as in OSU and nccl-tests)"));
    if (options.sweep.protocol.sync == Protocol::Sync::automatic)
        notes.push_back(!world.oversubscribed
                            ? "calls start at a common deadline; rows that would miss most of "
                              "them, at a barrier"
                        : world.one_host() && options.sweep.input == InputState::untouched
                            ? "more ranks than cores: samples are means of rows of calls"
                            : "calls start at a barrier");
    if (!world.one_host())
        notes.push_back(
            "wire: bytes that the busiest host's interfaces sent or received for a call, the more "
            "of the two; headers included");
    if (world.kind() == "threads" && !options.run.ranks.threads)
        notes.push_back("one rank: start with mpirun -np N, or add --ranks N for N threads");
    if (options.fault) notes.push_back("injected fault: " + to_string(*options.fault));
    return notes;
}

}  // namespace tutti
