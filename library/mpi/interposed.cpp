// SPDX-License-Identifier: Apache-2.0
// Interposes MPI functions under both names. A tool loaded before this library, and Open MPI's
// Fortran bindings, call PMPI_X. The Fortran bindings have already translated MPI_IN_PLACE.
// Programs call MPI_X. If a tool is loaded after this library, MPI_X is forwarded to the tool: it
// sees every call of the program, and comes back through PMPI_X.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "collectives/transport/messages/mpi_library.hpp"
#include "library/mpi/block_calls.hpp"
#include "library/mpi/calls.hpp"

namespace {

template <class Function>
Function* next_of(const char* name, Function*) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr,
                     "tutti: no MPI library with %s found; preload libtutti_mpi only into MPI "
                     "programs\n",
                     name);
        std::abort();
    }
    return reinterpret_cast<Function*>(found);
}

// The next MPI_X in load order. It belongs to a tool if the next PMPI_X is in another library.
template <class Function>
struct Next {
    Next(const char* name, const char* other_name, Function* kind)
        : function(next_of(name, kind)),
          is_of_tool(
              !is_same_library(reinterpret_cast<void*>(function), dlsym(RTLD_NEXT, other_name))) {}

    // In most MPI libraries both names are the same function. dladdr() takes some 50 us.
    static bool is_same_library(void* one, void* other) {
        Dl_info of_one{}, of_other{};
        return one == other || dladdr(one, &of_one) == 0 || dladdr(other, &of_other) == 0 ||
               of_one.dli_fbase == of_other.dli_fbase;
    }

    Function* function;
    bool is_of_tool;
};

// MPI_Init and MPI_Init_thread.
template <class Next, class... Arguments>
int start_mpi(const Next& next, Arguments... arguments) {
    const int code = next(arguments...);
    if (code == MPI_SUCCESS) tutti::mpi_has_started();
    return code;
}

template <class Next>
int end_mpi(const Next& next) {
    tutti::mpi_is_about_to_end();
    return next();
}

// MPI_Comm_free and MPI_Comm_disconnect.
template <class Next>
int free_communicator(const Next& next, MPI_Comm* comm) {
    const tutti::FreedCommunicator freed(comm == nullptr ? MPI_COMM_NULL : *comm);
    return next(comm);
}

template <class Next, class... Arguments>
int duplicate_without_waiting(const Next& next, Arguments... arguments) {
    tutti::duplicates_without_waiting = true;
    return next(arguments...);
}

}  // namespace

// Defines PMPI_name and MPI_name. Both call `ours` with the next function and the parameters.
#define TUTTI_INTERPOSES(name, parameters, ours, ...)                                              \
    extern "C" [[gnu::visibility("default")]] int PMPI_##name parameters {                         \
        static auto* const next = next_of("PMPI_" #name, static_cast<int(*) parameters>(nullptr)); \
        return ours(next __VA_OPT__(, ) __VA_ARGS__);                                              \
    }                                                                                              \
    extern "C" [[gnu::visibility("default")]] int MPI_##name parameters {                          \
        static const Next next("MPI_" #name, "PMPI_" #name,                                        \
                               static_cast<int(*) parameters>(nullptr));                           \
        if (next.is_of_tool) return next.function(__VA_ARGS__);                                    \
        return ours(next.function __VA_OPT__(, ) __VA_ARGS__);                                     \
    }

// Defines all collectives, with int or MPI_Count counts.
#define TUTTI_INTERPOSES_ALL(suffix, Count, Displacement)                                         \
    TUTTI_INTERPOSES(Allreduce##suffix,                                                           \
                     (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, \
                      MPI_Comm comm),                                                             \
                     tutti::calls::all_reduce, send, receive, count, type, op, comm)              \
    TUTTI_INTERPOSES(Reduce##suffix,                                                              \
                     (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, \
                      int root, MPI_Comm comm),                                                   \
                     tutti::calls::reduce, send, receive, count, type, op, root, comm)            \
    TUTTI_INTERPOSES(Bcast##suffix,                                                               \
                     (void* data, Count count, MPI_Datatype type, int root, MPI_Comm comm),       \
                     tutti::calls::broadcast, data, count, type, root, comm)                      \
    TUTTI_INTERPOSES(Allgather##suffix,                                                           \
                     (const void* send, Count send_count, MPI_Datatype send_type, void* receive,  \
                      Count count, MPI_Datatype type, MPI_Comm comm),                             \
                     tutti::calls::all_gather, send, send_count, send_type, receive, count, type, \
                     comm)                                                                        \
    TUTTI_INTERPOSES(Allgatherv##suffix,                                                          \
                     (const void* send, Count send_count, MPI_Datatype send_type, void* receive,  \
                      const Count* counts, const Displacement* displacements, MPI_Datatype type,  \
                      MPI_Comm comm),                                                             \
                     tutti::calls::all_gather_v, send, send_count, send_type, receive, counts,    \
                     displacements, type, comm)                                                   \
    TUTTI_INTERPOSES(Gather##suffix,                                                              \
                     (const void* send, Count send_count, MPI_Datatype send_type, void* receive,  \
                      Count count, MPI_Datatype type, int root, MPI_Comm comm),                   \
                     tutti::calls::gather, send, send_count, send_type, receive, count, type,     \
                     root, comm)                                                                  \
    TUTTI_INTERPOSES(Gatherv##suffix,                                                             \
                     (const void* send, Count send_count, MPI_Datatype send_type, void* receive,  \
                      const Count* counts, const Displacement* displacements, MPI_Datatype type,  \
                      int root, MPI_Comm comm),                                                   \
                     tutti::calls::gather_v, send, send_count, send_type, receive, counts,        \
                     displacements, type, root, comm)                                             \
    TUTTI_INTERPOSES(Scatter##suffix,                                                             \
                     (const void* send, Count send_count, MPI_Datatype send_type, void* receive,  \
                      Count count, MPI_Datatype type, int root, MPI_Comm comm),                   \
                     tutti::calls::scatter, send, send_count, send_type, receive, count, type,    \
                     root, comm)                                                                  \
    TUTTI_INTERPOSES(Scatterv##suffix,                                                            \
                     (const void* send, const Count* counts, const Displacement* displacements,   \
                      MPI_Datatype send_type, void* receive, Count count, MPI_Datatype type,      \
                      int root, MPI_Comm comm),                                                   \
                     tutti::calls::scatter_v, send, counts, displacements, send_type, receive,    \
                     count, type, root, comm)                                                     \
    TUTTI_INTERPOSES(Alltoall##suffix,                                                            \
                     (const void* send, Count send_count, MPI_Datatype send_type, void* receive,  \
                      Count count, MPI_Datatype type, MPI_Comm comm),                             \
                     tutti::calls::all_to_all, send, send_count, send_type, receive, count, type, \
                     comm)                                                                        \
    TUTTI_INTERPOSES(                                                                             \
        Alltoallv##suffix,                                                                        \
        (const void* send, const Count* send_counts, const Displacement* send_displacements,      \
         MPI_Datatype send_type, void* receive, const Count* counts,                              \
         const Displacement* displacements, MPI_Datatype type, MPI_Comm comm),                    \
        tutti::calls::all_to_all_v, send, send_counts, send_displacements, send_type, receive,    \
        counts, displacements, type, comm)                                                        \
    TUTTI_INTERPOSES(Reduce_scatter_block##suffix,                                                \
                     (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, \
                      MPI_Comm comm),                                                             \
                     tutti::calls::reduce_scatter_block, send, receive, count, type, op, comm)    \
    TUTTI_INTERPOSES(Reduce_scatter##suffix,                                                      \
                     (const void* send, void* receive, const Count* counts, MPI_Datatype type,    \
                      MPI_Op op, MPI_Comm comm),                                                  \
                     tutti::calls::reduce_scatter_counts, send, receive, counts, type, op, comm)  \
    TUTTI_INTERPOSES(Scan##suffix,                                                                \
                     (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, \
                      MPI_Comm comm),                                                             \
                     tutti::calls::scan, send, receive, count, type, op, comm)                    \
    TUTTI_INTERPOSES(Exscan##suffix,                                                              \
                     (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, \
                      MPI_Comm comm),                                                             \
                     tutti::calls::exscan, send, receive, count, type, op, comm)

TUTTI_INTERPOSES_ALL(, int, int)
#if MPI_VERSION >= 4
TUTTI_INTERPOSES_ALL(_c, MPI_Count, MPI_Aint)
#endif
TUTTI_INTERPOSES(Barrier, (MPI_Comm comm), tutti::calls::barrier, comm)

TUTTI_INTERPOSES(Init, (int* words, char*** all), start_mpi, words, all)
TUTTI_INTERPOSES(Init_thread, (int* words, char*** all, int required, int* provided), start_mpi,
                 words, all, required, provided)
TUTTI_INTERPOSES(Finalize, (), end_mpi)
TUTTI_INTERPOSES(Comm_free, (MPI_Comm * comm), free_communicator, comm)
TUTTI_INTERPOSES(Comm_disconnect, (MPI_Comm * comm), free_communicator, comm)
TUTTI_INTERPOSES(Comm_idup, (MPI_Comm comm, MPI_Comm* copy, MPI_Request* request),
                 duplicate_without_waiting, comm, copy, request)
#if MPI_VERSION >= 4
TUTTI_INTERPOSES(Comm_idup_with_info,
                 (MPI_Comm comm, MPI_Info info, MPI_Comm* copy, MPI_Request* request),
                 duplicate_without_waiting, comm, info, copy, request)
#endif

void tutti::use_library_functions() {
    mpi_collectives = {
        .all_reduce = next_of("PMPI_Allreduce", &MPI_Allreduce),
        .reduce_scatter = next_of("PMPI_Reduce_scatter_block", &MPI_Reduce_scatter_block),
        .reduce_scatter_v = next_of("PMPI_Reduce_scatter", &MPI_Reduce_scatter),
        .all_gather = next_of("PMPI_Allgather", &MPI_Allgather),
        .all_gather_v = next_of("PMPI_Allgatherv", &MPI_Allgatherv),
        .broadcast = next_of("PMPI_Bcast", &MPI_Bcast),
        .reduce = next_of("PMPI_Reduce", &MPI_Reduce),
        .scatter = next_of("PMPI_Scatter", &MPI_Scatter),
        .scatter_v = next_of("PMPI_Scatterv", &MPI_Scatterv),
        .gather = next_of("PMPI_Gather", &MPI_Gather),
        .gather_v = next_of("PMPI_Gatherv", &MPI_Gatherv),
        .all_to_all = next_of("PMPI_Alltoall", &MPI_Alltoall),
        .all_to_all_v = next_of("PMPI_Alltoallv", &MPI_Alltoallv),
        .barrier = next_of("PMPI_Barrier", &MPI_Barrier),
        .scan = next_of("PMPI_Scan", &MPI_Scan),
        .exscan = next_of("PMPI_Exscan", &MPI_Exscan)};
}
