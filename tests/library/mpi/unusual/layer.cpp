// SPDX-License-Identifier: Apache-2.0
// A profiling layer: MPI functions that count their calls and call PMPI. It is compiled into a
// program, linked in front of the MPI library, or preloaded.
#include "layer.hpp"

#include <mpi.h>

#include <array>

namespace {

std::array<LayerCount, 100> counts{};

long& count_of(const char* name) {
    for (LayerCount& count : counts)
        if (count.function == nullptr) {
            count.function = name;
            return count.calls;
        }
    MPI_Abort(MPI_COMM_WORLD, 72);
    return counts[0].calls;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const LayerCount* layer_counts() { return counts.data(); }

#define LAYER_COUNTS(name, parameters, ...)                               \
    extern "C" [[gnu::visibility("default")]] int MPI_##name parameters { \
        static long& calls = count_of("MPI_" #name);                      \
        ++calls;                                                          \
        return PMPI_##name(__VA_ARGS__);                                  \
    }

LAYER_COUNTS(Allreduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), a, b,
             n, t, o, c)
LAYER_COUNTS(Reduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c),
             a, b, n, t, o, r, c)
LAYER_COUNTS(Reduce_scatter_block,
             (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), a, b, n, t, o,
             c)
LAYER_COUNTS(Scan, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), a, b, n,
             t, o, c)
LAYER_COUNTS(Bcast, (void* a, int n, MPI_Datatype t, int r, MPI_Comm c), a, n, t, r, c)
LAYER_COUNTS(Allgather,
             (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c), a,
             n, t, b, m, u, c)
LAYER_COUNTS(Alltoall,
             (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c), a,
             n, t, b, m, u, c)
LAYER_COUNTS(Gather,
             (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int r,
              MPI_Comm c),
             a, n, t, b, m, u, r, c)
LAYER_COUNTS(Scatter,
             (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int r,
              MPI_Comm c),
             a, n, t, b, m, u, r, c)
LAYER_COUNTS(Allgatherv,
             (const void* a, int n, MPI_Datatype t, void* b, const int* m, const int* d,
              MPI_Datatype u, MPI_Comm c),
             a, n, t, b, m, d, u, c)
LAYER_COUNTS(Gatherv,
             (const void* a, int n, MPI_Datatype t, void* b, const int* m, const int* d,
              MPI_Datatype u, int r, MPI_Comm c),
             a, n, t, b, m, d, u, r, c)
LAYER_COUNTS(Scatterv,
             (const void* a, const int* n, const int* e, MPI_Datatype t, void* b, int m,
              MPI_Datatype u, int r, MPI_Comm c),
             a, n, e, t, b, m, u, r, c)
LAYER_COUNTS(Alltoallv,
             (const void* a, const int* n, const int* e, MPI_Datatype t, void* b, const int* m,
              const int* d, MPI_Datatype u, MPI_Comm c),
             a, n, e, t, b, m, d, u, c)
LAYER_COUNTS(Barrier, (MPI_Comm c), c)

LAYER_COUNTS(Iallreduce,
             (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request* q),
             a, b, n, t, o, c, q)
LAYER_COUNTS(Ibcast, (void* a, int n, MPI_Datatype t, int r, MPI_Comm c, MPI_Request* q), a, n, t,
             r, c, q)
LAYER_COUNTS(Iallgather,
             (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c,
              MPI_Request* q),
             a, n, t, b, m, u, c, q)
LAYER_COUNTS(Ibarrier, (MPI_Comm c, MPI_Request* q), c, q)
LAYER_COUNTS(Isend,
             (const void* a, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request* q), a, n,
             t, r, g, c, q)
LAYER_COUNTS(Irecv, (void* a, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request* q), a,
             n, t, r, g, c, q)
LAYER_COUNTS(Send, (const void* a, int n, MPI_Datatype t, int r, int g, MPI_Comm c), a, n, t, r, g,
             c)
LAYER_COUNTS(Recv, (void* a, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Status* s), a, n,
             t, r, g, c, s)
LAYER_COUNTS(Iprobe, (int r, int g, MPI_Comm c, int* f, MPI_Status* s), r, g, c, f, s)
LAYER_COUNTS(Test, (MPI_Request * q, int* f, MPI_Status* s), q, f, s)
LAYER_COUNTS(Wait, (MPI_Request * q, MPI_Status* s), q, s)
LAYER_COUNTS(Waitall, (int n, MPI_Request q[], MPI_Status s[]), n, q, s)
LAYER_COUNTS(Request_free, (MPI_Request * q), q)

LAYER_COUNTS(Comm_dup, (MPI_Comm c, MPI_Comm* d), c, d)
LAYER_COUNTS(Comm_idup, (MPI_Comm c, MPI_Comm* d, MPI_Request* q), c, d, q)
LAYER_COUNTS(Comm_split, (MPI_Comm c, int k, int l, MPI_Comm* d), c, k, l, d)
LAYER_COUNTS(Comm_split_type, (MPI_Comm c, int k, int l, MPI_Info i, MPI_Comm* d), c, k, l, i, d)
LAYER_COUNTS(Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm* d), c, g, d)
LAYER_COUNTS(Comm_create_group, (MPI_Comm c, MPI_Group g, int t, MPI_Comm* d), c, g, t, d)
LAYER_COUNTS(Comm_free, (MPI_Comm * c), c)
LAYER_COUNTS(Comm_rank, (MPI_Comm c, int* r), c, r)
LAYER_COUNTS(Comm_size, (MPI_Comm c, int* n), c, n)
LAYER_COUNTS(Comm_test_inter, (MPI_Comm c, int* f), c, f)
LAYER_COUNTS(Comm_group, (MPI_Comm c, MPI_Group* g), c, g)
LAYER_COUNTS(Group_free, (MPI_Group * g), g)
LAYER_COUNTS(Group_incl, (MPI_Group g, int n, const int r[], MPI_Group* h), g, n, r, h)
LAYER_COUNTS(Group_translate_ranks, (MPI_Group g, int n, const int r[], MPI_Group h, int s[]), g, n,
             r, h, s)
LAYER_COUNTS(Comm_create_keyval,
             (MPI_Comm_copy_attr_function * f, MPI_Comm_delete_attr_function* g, int* k, void* s),
             f, g, k, s)
LAYER_COUNTS(Comm_free_keyval, (int* k), k)
LAYER_COUNTS(Comm_set_attr, (MPI_Comm c, int k, void* v), c, k, v)
LAYER_COUNTS(Comm_get_attr, (MPI_Comm c, int k, void* v, int* f), c, k, v, f)
LAYER_COUNTS(Comm_delete_attr, (MPI_Comm c, int k), c, k)
LAYER_COUNTS(Comm_get_errhandler, (MPI_Comm c, MPI_Errhandler* h), c, h)
LAYER_COUNTS(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), c, h)
LAYER_COUNTS(Comm_call_errhandler, (MPI_Comm c, int e), c, e)
LAYER_COUNTS(Errhandler_free, (MPI_Errhandler * h), h)

LAYER_COUNTS(Type_size, (MPI_Datatype t, int* n), t, n)
LAYER_COUNTS(Type_get_extent, (MPI_Datatype t, MPI_Aint* l, MPI_Aint* e), t, l, e)
LAYER_COUNTS(Type_get_true_extent, (MPI_Datatype t, MPI_Aint* l, MPI_Aint* e), t, l, e)
LAYER_COUNTS(Type_get_envelope, (MPI_Datatype t, int* i, int* a, int* d, int* k), t, i, a, d, k)
LAYER_COUNTS(Type_commit, (MPI_Datatype * t), t)
LAYER_COUNTS(Type_free, (MPI_Datatype * t), t)
LAYER_COUNTS(Pack, (const void* a, int n, MPI_Datatype t, void* b, int m, int* p, MPI_Comm c), a, n,
             t, b, m, p, c)
LAYER_COUNTS(Unpack, (const void* a, int n, int* p, void* b, int m, MPI_Datatype t, MPI_Comm c), a,
             n, p, b, m, t, c)
LAYER_COUNTS(Get_library_version, (char* v, int* n), v, n)
LAYER_COUNTS(Initialized, (int* f), f)
LAYER_COUNTS(Finalized, (int* f), f)
LAYER_COUNTS(Query_thread, (int* l), l)
LAYER_COUNTS(Error_class, (int e, int* c), e, c)
LAYER_COUNTS(Init, (int* n, char*** a), n, a)
LAYER_COUNTS(Finalize, (), )
