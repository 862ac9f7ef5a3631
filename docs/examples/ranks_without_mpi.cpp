// SPDX-License-Identifier: Apache-2.0
// Runs ranks as processes without MPI. Arguments name the address where they meet, the rank and the
// size, or torchrun or srun sets them in the environment:
//   ranks_without_mpi tcp://HOST:PORT RANK SIZE
//   srun -n 4 ranks_without_mpi
#include <cstdio>
#include <cstdlib>
#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <tutti/rendezvous.hpp>
#include <vector>

int main(int argc, char** argv) {
    try {
        if (argc != 1 && argc != 4)
            throw tutti::Error("usage: ranks_without_mpi tcp://HOST:PORT RANK SIZE");
        const tutti::Rendezvous where = argc == 1 ? tutti::rendezvous_from_environment()
                                                  : tutti::Rendezvous{.address = argv[1],
                                                                      .rank = std::atoi(argv[2]),
                                                                      .size = std::atoi(argv[3])};
        auto ranks = tutti::Communicator::over_rendezvous(where);

        std::vector<double> values(1000, ranks.rank().index);
        ranks.all_reduce(values);

        const bool is_right = values.back() == ranks.size() * (ranks.size() - 1) / 2.0;
        std::printf("rank %d of %d: %s\n", ranks.rank().index, ranks.size(),
                    is_right ? "right" : "wrong");
        return is_right ? 0 : 2;
    } catch (const tutti::Error& error) {
        std::fprintf(stderr, "ranks_without_mpi: %s\n", error.what());
        if (argc == 1) std::fprintf(stderr, "usage: ranks_without_mpi tcp://HOST:PORT RANK SIZE\n");
        return static_cast<int>(error.code());
    }
}
