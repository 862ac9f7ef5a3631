/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over processes, in C and without MPI. Arguments name the address where they meet, the rank
 * and the size (sum_in_c tcp://HOST:PORT RANK SIZE), or torchrun or srun sets them. */
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

enum { COUNT = 1000 };

int main(int argc, char** argv) {
    if (argc != 1 && argc != 4) {
        fprintf(stderr, "sum_in_c: usage: sum_in_c tcp://HOST:PORT RANK SIZE\n");
        return 64;
    }
    tutti_comm* ranks = NULL;
    tutti_result result =
        argc == 4 ? tutti_comm_create(argv[1], atoi(argv[2]), atoi(argv[3]), NULL, &ranks)
                  : tutti_comm_create_from_environment(NULL, &ranks);
    float values[COUNT];
    tutti_request* sum = NULL;
    if (result == TUTTI_OK) {
        for (int i = 0; i < COUNT; ++i) values[i] = (float)tutti_comm_rank(ranks);
        result = tutti_start_all_reduce(ranks, TUTTI_IN_PLACE, values, COUNT, TUTTI_FLOAT,
                                        TUTTI_SUM, &sum);
    }
    /* ... what this process computes meanwhile ... */
    if (result == TUTTI_OK) result = tutti_wait(&sum);
    if (result != TUTTI_OK) {
        fprintf(stderr, "sum_in_c: %s\n", tutti_last_error());
        if (argc == 1) fprintf(stderr, "usage: sum_in_c tcp://HOST:PORT RANK SIZE\n");
        return (int)result;
    }
    const int size = tutti_comm_size(ranks);
    const int is_right = values[COUNT - 1] == (float)(size * (size - 1) / 2);
    printf("rank %d of %d: %s\n", tutti_comm_rank(ranks), size, is_right ? "right" : "wrong");
    tutti_comm_free(ranks);
    return is_right ? 0 : 2;
}
