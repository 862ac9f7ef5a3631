// SPDX-License-Identifier: Apache-2.0
// The program of the scenarios that share a process.
#include "scenarios.hpp"

namespace {

// Runs a scenario. Rank 0 prints whether all checks on all ranks were right.
bool run_scenario(const Scenario& scenario) {
    const Job world(MPI_COMM_WORLD);
    checks = {};
    scenario.run(world);
    std::fflush(stdout);
    int wrong = checks.wrong > 0 ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    if (world.rank == 0) {
        std::printf("%s %s\n", scenario.name.data(), wrong != 0 ? "WRONG" : "OK");
        std::fflush(stdout);
    }
    return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<const Scenario> all(all_scenarios);
    if (argc < 2) return list_scenarios(all);
    int provided = 0;
    MPI_Init_thread(&argc, &argv, thread_level, &provided);
    bool right = true;
    for (const char* name : std::span(argv + 1, static_cast<std::size_t>(argc - 1)))
        right = run_scenario(find_scenario(all, name)) && right;
    MPI_Finalize();
    return right ? 0 : 1;
}
