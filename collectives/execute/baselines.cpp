// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/baselines.hpp"

#include "base/name_table.hpp"
#include "collectives/execute/mpi_baseline.hpp"
#include "collectives/transport/mpi.hpp"

namespace tutti {
namespace {

const Baseline rows[] = {
    {"mpi",
     "the MPI library's own collective (MPI_Allreduce, ...); mpi/ring forces one of its "
     "algorithms, mpi/all tries every one",
     mpi_missing, allow_forced_mpi_algorithms, mpi_algorithms, mpi_baseline_refuses, mpi_baseline,
     leave_mpi_as_found},
};

}  // namespace

std::span<const Baseline> baselines() { return rows; }

const Baseline& find_baseline(std::string_view name) {
    std::vector<std::string> names{"none"};
    for (const Baseline& row : rows) {
        if (row.name == name) return row;
        names.emplace_back(row.name);
    }
    throw Error(unknown_name("baseline", name, names));
}

}  // namespace tutti
