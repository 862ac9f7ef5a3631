// SPDX-License-Identifier: Apache-2.0
// Creates, uses and frees many communicators, and checks for leaks. preload_test.py runs it.
//   preload_communicators HOW_MANY
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "preload_program.hpp"

namespace {

struct Held {
    long pages = 0, mappings = 0, descriptors = 0;
};

Held held() {
    Held all;
    std::ifstream statm("/proc/self/statm"), maps("/proc/self/maps");
    statm >> all.pages >> all.pages;
    for (std::string line; std::getline(maps, line);) ++all.mappings;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
        ++all.descriptors;
    return all;
}

void use_one(int number) {
    MPI_Comm comm = MPI_COMM_NULL, part = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Job job(comm);
    int data[64];
    for (int i = 0; i < 64; ++i) data[i] = given(job.rank, i);
    MPI_Allreduce(MPI_IN_PLACE, data, 64, MPI_INT, MPI_SUM, comm);
    EXPECT(data[63] == combined<int>(MPI_SUM, job.size, 63));
    if (number % 2 != 0) {
        MPI_Comm_split(comm, 0, -job.rank, &part);
        int root = job.rank;
        MPI_Bcast(&root, 1, MPI_INT, 0, part);
        EXPECT(root == job.size - 1);
    }
    MPI_Comm_free(&comm);
    if (number % 2 != 0) MPI_Comm_free(&part);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int many = argc > 1 ? std::atoi(argv[1]) : 100;
    for (int i = 0; i < many / 4; ++i) use_one(i);
    const Held early = held();
    for (int i = many / 4; i < many; ++i) use_one(i);
    const Held late = held();
    EXPECT(late.descriptors <= early.descriptors);
    EXPECT(late.mappings <= early.mappings + 8);
    EXPECT(late.pages <= early.pages + 2048);  // 8 MiB
    if (Job(MPI_COMM_WORLD).rank == 0)
        std::printf("%ld wrong; %+ld pages, %+ld mappings, %+ld descriptors\n", checks.wrong,
                    late.pages - early.pages, late.mappings - early.mappings,
                    late.descriptors - early.descriptors);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
