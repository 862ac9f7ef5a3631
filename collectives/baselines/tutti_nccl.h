/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_NCCL_H
#define TUTTI_NCCL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Functions of libtutti_nccl.so for a program whose NCCL has loaded it as a plugin (NCCL_TUNER_PLUGIN,
 * NCCL_PROFILER_PLUGIN). The program opens the same file with dlopen() and finds them with dlsym().
 */

/**
 * Lets NCCL do the following collectives of this process by `choice`: ALGORITHM[-PROTOCOL][-CHANNELS], such as "ring",
 * "tree-ll128" or "nvls-tree-simple-16". NULL or "" ends that. All ranks must make the same choice between the same
 * calls, as NCCL hangs otherwise. NCCL does a call by its own choice if it cannot use this one: see tutti_nccl_count().
 * Returns 0, or -1 for an unknown choice, which changes nothing.
 */
int tutti_nccl_force(const char* choice);
typedef int tutti_nccl_force_function(const char*);

/** How often NCCL asked this process for a choice that the table or tutti_nccl_force() made. */
struct tutti_nccl_counts {
    uint64_t chosen;  /**< NCCL could use the choice */
    uint64_t refused; /**< NCCL could not, and used its own */
};
void tutti_nccl_count(struct tutti_nccl_counts* counts);
typedef void tutti_nccl_count_function(struct tutti_nccl_counts*);

/** A collective as NCCL's profiler reported it. Texts have tutti's names: "all_reduce", "float", "nvls-tree", "ll128". */
struct tutti_nccl_call {
    uint64_t id;           /**< of the call in this process, from 1 on */
    uint64_t communicator; /**< the same on all of its ranks */
    uint64_t sequence;     /**< NCCL's number of the call among those of this collective */
    uint64_t count;        /**< elements that the program passed */
    uint64_t gpu_start;    /**< when the first channel started, in ns of the GPU's global timer; 0: unknown */
    uint64_t gpu_ns;       /**< from the first channel's start to the last one's end; 0: has not ended, or unknown */
    int32_t rank, ranks;
    int32_t channels;
    int32_t ended_channels; /**< how many of these have ended on the GPU */
    char collective[24], type[16], algorithm[24], protocol[16];
};
/** Returns the id of the last call of this process; 0 if there was none. */
uint64_t tutti_nccl_last_call(void);
typedef uint64_t tutti_nccl_last_call_function(void);

/**
 * Copies up to `most` calls with an id above `after` to `calls`, the oldest first, and returns their number. The last 1024
 * calls of the process are kept.
 */
size_t tutti_nccl_calls(uint64_t after, struct tutti_nccl_call* calls, size_t most);
typedef size_t tutti_nccl_calls_function(uint64_t, struct tutti_nccl_call*, size_t);

#ifdef __cplusplus
}
#endif
#endif
