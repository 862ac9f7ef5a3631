/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of scripts/compare_python: the time of `calls` calls in seconds, or -1 if one fails. */
#include <time.h>
#include <tutti/tutti.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double all_reduce(tutti_comm* comm, const void* data, void* output, size_t count, int calls) {
    const double began = now();
    for (int i = 0; i < calls; ++i)
        if (tutti_all_reduce(comm, data, output, count, TUTTI_DOUBLE, TUTTI_SUM) != TUTTI_OK)
            return -1;
    return now() - began;
}

double all_gather(tutti_comm* comm, const void* data, void* output, size_t count, int calls) {
    const double began = now();
    for (int i = 0; i < calls; ++i)
        if (tutti_all_gather(comm, data, output, count, TUTTI_DOUBLE) != TUTTI_OK) return -1;
    return now() - began;
}

double broadcast(tutti_comm* comm, void* data, void* unused, size_t count, int calls) {
    (void)unused;
    const double began = now();
    for (int i = 0; i < calls; ++i)
        if (tutti_broadcast(comm, data, count, TUTTI_DOUBLE, 0) != TUTTI_OK) return -1;
    return now() - began;
}
