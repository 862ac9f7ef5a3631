// SPDX-License-Identifier: Apache-2.0
// Begins with the results of its last run, tries other algorithms for at most 5 % of its time in
// collectives, and keeps what it learns.
//   mpirun -n 2 learn_while_running TABLE [SECONDS]
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <tutti/communicator.hpp>
#include <tutti/table.hpp>
#include <vector>

namespace {

// Updates the first rank's file. Its entries for other sizes stay.
void keep(const tutti::Table& learnt, const char* file) {
    tutti::Table table;
    if (std::filesystem::exists(file)) table = tutti::read_table(file);
    tutti::overlay(table, learnt);
    tutti::keep_table(table, file);
}

// Returns on all ranks whether the first rank has the file.
bool is_there(const char* file) {
    int found = std::filesystem::exists(file) ? 1 : 0;
    MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return found == 1;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    try {
        if (argc < 2) throw tutti::Error("usage: mpirun -n 2 learn_while_running TABLE [SECONDS]");
        const char* file = argv[1];
        const double seconds = argc > 2 ? std::atof(argv[2]) : 5;

        tutti::CommunicatorOptions options{.learn = tutti::Learning{.bound = 0.05}};
        if (is_there(file)) options.table_file = file;
        auto ranks = tutti::Communicator::over_mpi(MPI_Comm_c2f(MPI_COMM_WORLD), options);

        std::vector<float> gradients(4'096, 1.0f);
        long calls = 0;
        const double began = MPI_Wtime();
        for (int goes_on = 1; goes_on == 1;) {
            for (int call = 0; call < 1'000; ++call) ranks.all_reduce(gradients, tutti::Op::max);
            calls += 1'000;
            // All ranks must make the same calls, so the first rank's clock decides.
            goes_on = MPI_Wtime() - began < seconds ? 1 : 0;
            ranks.broadcast(std::span(&goes_on, 1));
        }

        const tutti::Table learnt = ranks.learnt();
        if (ranks.rank().index == 0) {
            keep(learnt, file);
            std::printf("%ld calls; %zu sections learnt, kept in %s\n", calls,
                        learnt.sections.size(), file);
        }
    } catch (const tutti::Error& error) {
        std::fprintf(stderr, "learn_while_running: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
    MPI_Finalize();
    return 0;
}
