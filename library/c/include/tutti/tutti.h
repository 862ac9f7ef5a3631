/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_C_H
#define TUTTI_C_H
/* Collectives for programs in C, and in languages that call C: tutti::Communicator behind opaque
 * handles.
 *
 * Every function returns TUTTI_OK or why it failed; then tutti_last_error() is one line of text
 * that says what to do. No exception leaves them. All ranks make the same calls in the same order,
 * with the same counts, types, operations and roots. One thread at a time uses a communicator, but
 * for tutti_send and tutti_receive. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; tutti_abi_version() is the library's. It is raised when programs must be compiled
 * anew. */
#define TUTTI_C_ABI_VERSION 1

typedef enum tutti_result {
    TUTTI_OK = 0,
    TUTTI_TIME_OUT = 4,  /* another rank did not come within the deadline; the communicator is of no
                            use any more. The call's buffers stay allocated and untouched until the
                            process ends: a rank that is late may still write there */
    TUTTI_RANK_LOST = 5, /* a rank has ended, or asks for another call; the same */
    TUTTI_USAGE = 64,    /* cannot be done; nothing was sent, the communicator stays usable */
    TUTTI_INTERNAL = 70  /* out of memory, say; the communicator is of no use any more */
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

/* How a communicator is made. Begin with TUTTI_OPTIONS_INIT; all ranks give the same but for the
 * socket and the background. */
typedef struct tutti_options {
    size_t bytes;    /* sizeof(tutti_options) */
    double deadline; /* seconds after which a wait for another rank gives up; INFINITY: never */
    const char* job; /* an id that processes of other jobs do not have; NULL: none */
    const char*
        table; /* the first rank's file of `tutti tune`; NULL: algorithms by built-in rules */
    int listening_socket; /* of rank 0: listens already, in place of the address's port; taken over.
                             -1: none */
    int background;       /* not 0: other threads of the process compute during the calls, so a rank
                             that waits soon sleeps, rather than keep a core busy */
} tutti_options;
#define TUTTI_OPTIONS_INIT \
    { sizeof(tutti_options), 30.0, NULL, NULL, -1, 0 }

/* As `input`: the data are in `output`, input and result. Where ranks have blocks, the input of a
 * rank is block `rank` of it (all_gather), or the result (reduce_scatter). All ranks are in place
 * or none; but of gather and scatter, each as it likes: the root's `output` holds all blocks, its
 * own too, that of another rank its own block alone. (In memory of tutti_allocate: all or none.) */
#define TUTTI_IN_PLACE ((const void*)-1)

int tutti_abi_version(void);
/* "0.1.0" */
const char* tutti_version(void);
/* Of the last call of this thread that failed; "" before that. Valid until the next one fails. */
const char* tutti_last_error(void);

/* `size` processes that meet at `address`, "tcp://HOST:PORT": rank 0 listens there. options may be
 * NULL. */
tutti_result tutti_comm_create(const char* address, int rank, int size,
                               const tutti_options* options, tutti_comm** comm);
/* The same, of what torchrun or srun says in the environment. */
tutti_result tutti_comm_create_from_environment(const tutti_options* options, tutti_comm** comm);
/* The ranks of an MPI communicator: MPI_Comm_c2f(comm), or in a build for MPI's standard ABI
   MPI_Comm_toint(comm). TUTTI_USAGE in a build without MPI. */
tutti_result tutti_comm_create_over_mpi(int fortran_handle, const tutti_options* options,
                                        tutti_comm** comm);
/* One rank alone. */
tutti_result tutti_comm_create_self(const tutti_options* options, tutti_comm** comm);
/* Waits for what is under way and for the other ranks, unless a call has failed. Requests are to
 * end before. */
void tutti_comm_free(tutti_comm* comm);

int tutti_comm_rank(const tutti_comm* comm);
int tutti_comm_size(const tutti_comm* comm);

/* `count` elements are those of a rank's vector, or of a block where each rank has one: buffers
 * that hold a block for each rank have size * count elements. A buffer that plays no part on a rank
 * may be NULL: `output` of reduce and gather on other ranks than the root, `input` of scatter. */
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
tutti_result tutti_barrier(tutti_comm* comm);

/* The same calls, begun: they return at once, and the buffers belong to the request until it has
 * ended. */
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

/* Moves all that is under way; *done is 1 once this one has ended, and *request NULL then, as after
 * a failure. */
tutti_result tutti_test(tutti_request** request, int* done);
/* Until it has ended; *request is NULL then. A NULL request has ended. */
tutti_result tutti_wait(tutti_request** request);

/* Bytes to one other rank of a rendezvous, which receives as many under the same tag. Other threads
 * may be in other calls meanwhile. tutti_send returns once the data may be changed. A failure
 * leaves the communicator as it is, and the buffer is the caller's again. After TUTTI_TIME_OUT the
 * call may be made once more; if a part of the message had moved, that gives TUTTI_RANK_LOST. */
tutti_result tutti_send(tutti_comm* comm, const void* data, size_t bytes, int to, int tag);
tutti_result tutti_receive(tutti_comm* comm, void* data, size_t bytes, int from, int tag);

/* Zeroed memory that the ranks of a host read and write in place: the fastest buffers there. All
 * ranks allocate and free alike, and give the same places of it in a call. Once the communicator is
 * of no use any more nothing needs to be freed: all goes with it. */
tutti_result tutti_allocate(tutti_comm* comm, size_t bytes, void** memory);
tutti_result tutti_free(tutti_comm* comm, void* memory, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
