// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cstdint>
#include <source_location>
#include <span>

namespace tutti {

// A communicator as an int, for headers without mpi.h: its Fortran handle, or MPI_Comm_toint in a
// build for MPI's standard ABI, which need not have Fortran handles.
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
constexpr bool is_for_standard_abi = true;
inline int number_of(MPI_Comm comm) { return MPI_Comm_toint(comm); }
inline MPI_Comm communicator_of(int number) { return MPI_Comm_fromint(number); }
#else
constexpr bool is_for_standard_abi = false;
inline int number_of(MPI_Comm comm) { return MPI_Comm_c2f(comm); }
inline MPI_Comm communicator_of(int number) { return MPI_Comm_f2c(number); }
#endif

/// The blocking MPI collectives that tutti calls, e.g. as the baseline `mpi`. The preload defines
/// functions of the same names, so it sets these pointers to the MPI library's own functions.
struct MpiCollectives {
    decltype(&MPI_Allreduce) all_reduce = MPI_Allreduce;
    decltype(&MPI_Reduce_scatter_block) reduce_scatter = MPI_Reduce_scatter_block;
    decltype(&MPI_Reduce_scatter) reduce_scatter_v = MPI_Reduce_scatter;
    decltype(&MPI_Allgather) all_gather = MPI_Allgather;
    decltype(&MPI_Allgatherv) all_gather_v = MPI_Allgatherv;
    decltype(&MPI_Bcast) broadcast = MPI_Bcast;
    decltype(&MPI_Reduce) reduce = MPI_Reduce;
    decltype(&MPI_Scatter) scatter = MPI_Scatter;
    decltype(&MPI_Scatterv) scatter_v = MPI_Scatterv;
    decltype(&MPI_Gather) gather = MPI_Gather;
    decltype(&MPI_Gatherv) gather_v = MPI_Gatherv;
    decltype(&MPI_Alltoall) all_to_all = MPI_Alltoall;
    decltype(&MPI_Alltoallv) all_to_all_v = MPI_Alltoallv;
    decltype(&MPI_Barrier) barrier = MPI_Barrier;
    decltype(&MPI_Scan) scan = MPI_Scan;
    decltype(&MPI_Exscan) exscan = MPI_Exscan;
};
extern MpiCollectives mpi_collectives;

/// Replaces each value by its maximum over the ranks of a communicator of the program. The
/// program's error handler is not called. Collective. Throws Error.
void maximize_over_ranks(MPI_Comm comm, std::span<std::int64_t> values);

/// Throws Error (a rank or its connection is lost) with MPI's text and the calling line.
[[noreturn]] void throw_mpi_error(int code, std::source_location where);

/// Calls throw_mpi_error unless `code` is MPI_SUCCESS, which the standard defines as 0. In timed
/// loops it costs a comparison.
inline void check(int code, std::source_location where = std::source_location::current()) {
    if (code != 0) throw_mpi_error(code, where);
}

/// Sets MPI_ERRORS_RETURN on a communicator. The destructor restores the program's error handler,
/// which might end the program or leave tutti's function by longjmp.
class ErrorsReturn {
public:
    explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
        check(PMPI_Comm_get_errhandler(comm_, &before_));
        check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
    }
    ~ErrorsReturn() {
        PMPI_Comm_set_errhandler(comm_, before_);
        PMPI_Errhandler_free(&before_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace tutti
