/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_C_H
#define TUTTI_C_H
/* Collectives for programs in C and in languages that call C: an interface to tutti::Communicator
 * with opaque handles.
 *
 * Every function returns TUTTI_OK or an error code; then tutti_last_error() returns one line of
 * text that says what to do. Functions throw no exceptions. All ranks make the same calls in the
 * same order, with the same counts, types, operations and roots. Only one thread at a time may use
 * a communicator, except for tutti_send and tutti_receive. */
#include <limits.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ABI version of this header; tutti_abi_version() returns that of the library. A change means that
 * programs must be recompiled. */
#define TUTTI_C_ABI_VERSION 1

typedef enum tutti_result {
    TUTTI_OK = 0,
    TUTTI_TIME_OUT = 4, /* another rank did not join within the deadline. The communicator cannot be
                           used any more. Keep the buffers of the call allocated and untouched until
                           the process ends, because a late rank may still write there */
    TUTTI_RANK_LOST = 5, /* a rank has ended; otherwise as TUTTI_TIME_OUT */
    TUTTI_USAGE = 64,    /* invalid call; nothing was sent, and the communicator stays usable. If
                            ranks make different calls, it cannot be used any more */
    TUTTI_INTERNAL = 70 /* other failure, such as out of memory; the communicator cannot be used any
                           more */
} tutti_result;

typedef enum tutti_type {
    TUTTI_INT8 = 0,
    TUTTI_INT16 = 1,
    TUTTI_INT32 = 2,
    TUTTI_INT64 = 3,
    TUTTI_UINT8 = 4,
    TUTTI_UINT16 = 5,
    TUTTI_UINT32 = 6,
    TUTTI_UINT64 = 7,
    TUTTI_HALF = 8,     /* IEEE binary16 */
    TUTTI_BFLOAT16 = 9, /* the upper half of a float */
    TUTTI_FLOAT = 10,
    TUTTI_DOUBLE = 11
} tutti_type;

typedef enum tutti_op {
    TUTTI_SUM = 0,
    TUTTI_PROD = 1,
    TUTTI_MIN = 2,
    TUTTI_MAX = 3,
    TUTTI_AVG = 4 /* the sum divided by the number of ranks; integers truncate towards zero */
} tutti_op;

typedef struct tutti_comm tutti_comm;
typedef struct tutti_request tutti_request;

/* Options of a communicator. Initialise them with TUTTI_OPTIONS_INIT. They must be equal on all
 * ranks, except listening_socket and background. */
typedef struct tutti_options {
    size_t bytes;         /* sizeof(tutti_options) */
    double deadline;      /* timeout in seconds for waiting for another rank; INFINITY: none */
    const char* job;      /* unique id of the job; NULL: none */
    const char* table;    /* file of `tutti tune`, read by rank 0; NULL: choose by built-in rules */
    int listening_socket; /* on rank 0: a listening socket to use instead of the port of the
                             address; the library takes ownership. -1: none */
    int background; /* not 0: other threads of the process compute during the calls, so waiting
                       ranks sleep soon instead of spinning */
} tutti_options;
#define TUTTI_OPTIONS_INIT \
    { sizeof(tutti_options), 30.0, NULL, NULL, -1, 0 }

/* Pass this as `input` for an in-place call: `output` holds the input and receives the result. In
 * all_gather, block `rank` of `output` is the input; in reduce_scatter it receives the result. All
 * ranks must be in place, or none. Exception: in gather and scatter each rank may choose, except in
 * memory of tutti_allocate. The root's `output` holds all blocks including its own; that of another
 * rank holds only its own block. */
#define TUTTI_IN_PLACE ((const void*)-1)

int tutti_abi_version(void);
/* Returns the version of the library, such as "0.1.0". */
const char* tutti_version(void);
/* Returns the message of this thread's last failed call; "" if none has failed. Valid until the
 * next failure. */
const char* tutti_last_error(void);

/* Connects `size` processes at `address` ("tcp://HOST:PORT"), where rank 0 listens. options may be
 * NULL. */
tutti_result tutti_comm_create(const char* address, int rank, int size,
                               const tutti_options* options, tutti_comm** comm);
/* The same, with address, rank and size from the environment of torchrun or srun. */
tutti_result tutti_comm_create_from_environment(const tutti_options* options, tutti_comm** comm);
/* MPI_COMM_WORLD, for languages that cannot include mpi.h. */
#define TUTTI_MPI_COMM_WORLD INT_MIN
/* Uses the ranks of an MPI communicator: pass TUTTI_MPI_COMM_WORLD or MPI_Comm_c2f(comm), or in a
 * build for MPI's standard ABI MPI_Comm_toint(comm). MPI must be initialised. Free the communicator
 * before MPI_Finalize. Returns TUTTI_USAGE in a build without MPI. */
tutti_result tutti_comm_create_over_mpi(int fortran_handle, const tutti_options* options,
                                        tutti_comm** comm);
/* Creates a communicator of one rank. */
tutti_result tutti_comm_create_self(const tutti_options* options, tutti_comm** comm);
/* Frees the communicator. Waits for pending calls and for the other ranks, unless a call has
 * failed. End all requests before. */
void tutti_comm_free(tutti_comm* comm);

int tutti_comm_rank(const tutti_comm* comm);
int tutti_comm_size(const tutti_comm* comm);

/* `count` is the number of elements of a rank's vector or block. Buffers with a block for each rank
 * have size * count elements. Buffers that a rank does not use may be NULL: `output` of reduce and
 * gather on other ranks than the root, `input` of scatter there, and `output` of exscan on rank 0.
 * Rank r gets the reduction of ranks 0 to r in scan, of those before it in exscan. */
tutti_result tutti_all_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type, tutti_op op);
tutti_result tutti_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                          tutti_type type, tutti_op op, int root);
tutti_result tutti_reduce_scatter(tutti_comm* comm, const void* input, void* output, size_t count,
                                  tutti_type type, tutti_op op);
tutti_result tutti_broadcast(tutti_comm* comm, void* data, size_t count, tutti_type type, int root);
tutti_result tutti_all_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type);
tutti_result tutti_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                          tutti_type type, int root);
tutti_result tutti_scatter(tutti_comm* comm, const void* input, void* output, size_t count,
                           tutti_type type, int root);
tutti_result tutti_all_to_all(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type);
tutti_result tutti_scan(tutti_comm* comm, const void* input, void* output, size_t count,
                        tutti_type type, tutti_op op);
tutti_result tutti_exscan(tutti_comm* comm, const void* input, void* output, size_t count,
                          tutti_type type, tutti_op op);
tutti_result tutti_barrier(tutti_comm* comm);

/* The same with blocks of different lengths, which may be 0 and lie side by side in rank order.
 * `counts` has one number of elements for each rank. It is equal on all ranks in reduce_scatter_v
 * and all_gather_v. In gather_v and scatter_v only the root needs it (NULL on other ranks), and
 * `count` is that of this rank's block. In all_to_all_v this rank sends sent[r] elements to rank r
 * and receives received[r] from it; in place they are equal, and received may be NULL. Ranks
 * exchange counts that not all of them know, even in started calls; if these contradict each other,
 * all ranks return TUTTI_USAGE. The arrays of counts are not used after the function returns. */
tutti_result tutti_reduce_scatter_v(tutti_comm* comm, const void* input, void* output, const size_t* counts, tutti_type type, tutti_op op);
tutti_result tutti_all_gather_v(tutti_comm* comm, const void* input, void* output, const size_t* counts, tutti_type type);
tutti_result tutti_gather_v(tutti_comm* comm, const void* input, void* output, size_t count, const size_t* counts, tutti_type type, int root);
tutti_result tutti_scatter_v(tutti_comm* comm, const void* input, void* output, size_t count, const size_t* counts, tutti_type type, int root);
tutti_result tutti_all_to_all_v(tutti_comm* comm, const void* input, void* output, const size_t* sent, const size_t* received, tutti_type type);

/* Non-blocking forms: they return at once. Do not touch the buffers until the request has ended. */
tutti_result tutti_start_all_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                                    tutti_type type, tutti_op op, tutti_request** request);
tutti_result tutti_start_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                                tutti_type type, tutti_op op, int root, tutti_request** request);
tutti_result tutti_start_reduce_scatter(tutti_comm* comm, const void* input, void* output,
                                        size_t count, tutti_type type, tutti_op op,
                                        tutti_request** request);
tutti_result tutti_start_broadcast(tutti_comm* comm, void* data, size_t count, tutti_type type,
                                   int root, tutti_request** request);
tutti_result tutti_start_all_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                                    tutti_type type, tutti_request** request);
tutti_result tutti_start_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                                tutti_type type, int root, tutti_request** request);
tutti_result tutti_start_scatter(tutti_comm* comm, const void* input, void* output, size_t count,
                                 tutti_type type, int root, tutti_request** request);
tutti_result tutti_start_all_to_all(tutti_comm* comm, const void* input, void* output, size_t count,
                                    tutti_type type, tutti_request** request);
tutti_result tutti_start_scan(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type, tutti_op op, tutti_request** request);
tutti_result tutti_start_exscan(tutti_comm* comm, const void* input, void* output, size_t count,
                                tutti_type type, tutti_op op, tutti_request** request);
tutti_result tutti_start_barrier(tutti_comm* comm, tutti_request** request);
tutti_result tutti_start_reduce_scatter_v(tutti_comm* comm, const void* input, void* output, const size_t* counts, tutti_type type, tutti_op op, tutti_request** request);
tutti_result tutti_start_all_gather_v(tutti_comm* comm, const void* input, void* output, const size_t* counts, tutti_type type, tutti_request** request);
tutti_result tutti_start_gather_v(tutti_comm* comm, const void* input, void* output, size_t count, const size_t* counts, tutti_type type, int root, tutti_request** request);
tutti_result tutti_start_scatter_v(tutti_comm* comm, const void* input, void* output, size_t count, const size_t* counts, tutti_type type, int root, tutti_request** request);
tutti_result tutti_start_all_to_all_v(tutti_comm* comm, const void* input, void* output, const size_t* sent, const size_t* received, tutti_type type, tutti_request** request);

/* Makes progress on all pending calls. Sets *done to 1 if this one is complete, else to 0. *request
 * becomes NULL when the call is complete or has failed. Tests notice a rank that has ended, but
 * have no deadline. */
tutti_result tutti_test(tutti_request** request, int* done);
/* Waits until the call is complete, and sets *request to NULL. Returns at once if *request is NULL.
 */
tutti_result tutti_wait(tutti_request** request);

/* Sends bytes to another rank of a rendezvous, which receives as many with the same tag. Other
 * threads may make other calls meanwhile. tutti_send returns when the data may be changed. After a
 * failure the communicator stays usable, and the buffer may be reused. After TUTTI_TIME_OUT the
 * call can be repeated; it returns TUTTI_RANK_LOST if a part of the message was transferred. */
tutti_result tutti_send(tutti_comm* comm, const void* data, size_t bytes, int to, int tag);
tutti_result tutti_receive(tutti_comm* comm, void* data, size_t bytes, int from, int tag);

/* Allocates zeroed memory that all ranks of a host can access directly: the fastest buffers within
 * a host. Collective, with the same size on all ranks. In a call, all ranks must pass the same
 * place of it. After a call has failed, tutti_comm_free frees the memory. */
tutti_result tutti_allocate(tutti_comm* comm, size_t bytes, void** memory);
tutti_result tutti_free(tutti_comm* comm, void* memory, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
