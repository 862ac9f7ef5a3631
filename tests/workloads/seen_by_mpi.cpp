// SPDX-License-Identifier: Apache-2.0
#include "seen_by_mpi.hpp"

#include <dlfcn.h>
#include <mpi.h>

namespace tutti::test {

SeenByMpi seen_by_mpi;

namespace {

int noted(const void* send, const void* receive, int result) {
    if (seen_by_mpi.is_noting) seen_by_mpi.collectives.push_back({send, receive});
    return result;
}

void note_message(const void* memory, int count, MPI_Datatype type, MPI_Comm comm) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    if (seen_by_mpi.is_noting && count > 0 && MPI_Comm_c2f(comm) != seen_by_mpi.set_up)
        seen_by_mpi.messages.push_back(
            {static_cast<const std::byte*>(memory),
             static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes)});
}

template <class Function>
Function next_function(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Notes the name of Open MPI's function and calls it; ours of that name comes first.
template <class... Arguments>
int noted_algorithm(const char* function, Arguments... arguments) {
    if (seen_by_mpi.is_noting) seen_by_mpi.algorithms.emplace_back(function);
    return next_function<int (*)(Arguments...)>(function)(arguments...);
}

}  // namespace
}  // namespace tutti::test

using tutti::test::next_function;
using tutti::test::note_message;
using tutti::test::noted;
using tutti::test::noted_algorithm;

extern "C" {
int MPI_Allreduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
    return noted(s, r, PMPI_Allreduce(s, r, n, t, op, c));
}
int MPI_Reduce_scatter_block(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
    return noted(s, r, PMPI_Reduce_scatter_block(s, r, n, t, op, c));
}
int MPI_Allgather(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u,
                  MPI_Comm c) {
    return noted(s, r, PMPI_Allgather(s, n, t, r, m, u, c));
}
int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
    return noted(b, b, PMPI_Bcast(b, n, t, root, c));
}
int MPI_Reduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c) {
    return noted(s, r, PMPI_Reduce(s, r, n, t, op, root, c));
}
int MPI_Scatter(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
                MPI_Comm c) {
    return noted(s, r, PMPI_Scatter(s, n, t, r, m, u, root, c));
}
int MPI_Gather(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
               MPI_Comm c) {
    return noted(s, r, PMPI_Gather(s, n, t, r, m, u, root, c));
}
int MPI_Alltoall(const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c) {
    return noted(s, r, PMPI_Alltoall(s, n, t, r, m, u, c));
}
int MPI_Scan(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
    return noted(s, r, PMPI_Scan(s, r, n, t, op, c));
}
int MPI_Exscan(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
    return noted(s, r, PMPI_Exscan(s, r, n, t, op, c));
}
int MPI_Barrier(MPI_Comm c) { return noted(nullptr, nullptr, PMPI_Barrier(c)); }
// Transports call these names, so that profiling layers do not see them.
int PMPI_Isend(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q) {
    note_message(b, n, t, c);
    static const auto real = next_function<decltype(&PMPI_Isend)>(__func__);
    return real(b, n, t, to, tag, c, q);
}
int PMPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* q) {
    note_message(b, n, t, c);
    static const auto real = next_function<decltype(&PMPI_Irecv)>(__func__);
    return real(b, n, t, from, tag, c, q);
}

// The same as in Open MPI's ompi/mca/coll/base/coll_base_functions.h; other libraries have no such
// functions.
int ompi_coll_base_allreduce_intra_ring(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op,
                                        MPI_Comm c, void* module) {
    return noted_algorithm(__func__, s, r, n, t, op, c, module);
}
int ompi_coll_base_allreduce_intra_recursivedoubling(const void* s, void* r, int n, MPI_Datatype t,
                                                     MPI_Op op, MPI_Comm c, void* module) {
    return noted_algorithm(__func__, s, r, n, t, op, c, module);
}
int ompi_coll_base_allgather_intra_ring(const void* s, int n, MPI_Datatype t, void* r, int m,
                                        MPI_Datatype u, MPI_Comm c, void* module) {
    return noted_algorithm(__func__, s, n, t, r, m, u, c, module);
}
int ompi_coll_base_allgather_intra_bruck(const void* s, int n, MPI_Datatype t, void* r, int m,
                                         MPI_Datatype u, MPI_Comm c, void* module) {
    return noted_algorithm(__func__, s, n, t, r, m, u, c, module);
}
}
