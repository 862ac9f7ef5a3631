/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every function of tutti.h from C, on ranks that this program starts itself: every_call
 * RANKS. Prints the first fault and exits with 1, or exits with 0. */
#include <arpa/inet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tutti/tutti.h>
#include <unistd.h>

static int rank_of_this = 0;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: failed: %s (%s)\n", __FILE__, __LINE__, rank_of_this, \
                    #condition, tutti_last_error());                                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define EXPECT_OK(call) EXPECT((call) == TUTTI_OK)

enum { COUNT = 1000, MOST_RANKS = 8 };

/* Returns element i of rank r. */
static int32_t at(int r, int i) { return r * 7 + i % 11; }

static void fill(int32_t* data, int r, int blocks) {
    for (int i = 0; i < blocks * COUNT; ++i) data[i] = at(r, i);
}

static int32_t sum_at(int ranks, int i) {
    int32_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += at(r, i);
    return sum;
}

/* Gathers to the last rank, and scatters the blocks, with 5 added, back from it. */
static void rooted_in_place(tutti_comm* comm, int me, int ranks, int in_place, int started) {
    static int32_t mine[COUNT], all[MOST_RANKS * COUNT];
    tutti_request* request = NULL;
    const int root = ranks - 1;
    const void* input = in_place ? TUTTI_IN_PLACE : mine;
    void* output = me == root ? all : mine;
    memset(all, 0, sizeof all);
    fill(mine, me, 1);
    if (me == root) memcpy(all + me * COUNT, mine, sizeof mine);
    if (me != root && !in_place) output = NULL;
    if (started)
        EXPECT_OK(tutti_start_gather(comm, input, output, COUNT, TUTTI_INT32, root, &request));
    else
        EXPECT_OK(tutti_gather(comm, input, output, COUNT, TUTTI_INT32, root));
    EXPECT_OK(tutti_wait(&request));
    for (int r = 0; me == root && r < ranks; ++r)
        for (int i = 0; i < COUNT; ++i) EXPECT(all[r * COUNT + i] == at(r, i));

    for (int i = 0; i < ranks * COUNT; ++i) all[i] += 5;
    memset(mine, 0, sizeof mine);
    input = in_place ? TUTTI_IN_PLACE : me == root ? all : NULL;
    output = me == root && in_place ? all : mine;
    if (started)
        EXPECT_OK(tutti_start_scatter(comm, input, output, COUNT, TUTTI_INT32, root, &request));
    else
        EXPECT_OK(tutti_scatter(comm, input, output, COUNT, TUTTI_INT32, root));
    EXPECT_OK(tutti_wait(&request));
    const int32_t* result = me == root && in_place ? all + me * COUNT : mine;
    for (int i = 0; i < COUNT; ++i) EXPECT(result[i] == at(me, i) + 5);
}

static void prefixes(tutti_comm* comm, int me, int in_place, int started) {
    static int32_t data[COUNT], out[COUNT];
    tutti_request* request = NULL;
    for (int inclusive = 0; inclusive < 2; ++inclusive) {
        const void* const input = in_place ? TUTTI_IN_PLACE : data;
        int32_t* const result = in_place ? data : out;
        int32_t* const output = !in_place && !inclusive && me == 0 ? NULL : result;
        const int ranks = me + inclusive;
        fill(data, me, 1);
        if (started)
            EXPECT_OK((inclusive ? tutti_start_scan : tutti_start_exscan)(
                comm, input, output, COUNT, TUTTI_INT32, TUTTI_SUM, &request));
        else
            EXPECT_OK((inclusive ? tutti_scan : tutti_exscan)(comm, input, output, COUNT,
                                                              TUTTI_INT32, TUTTI_SUM));
        EXPECT_OK(tutti_wait(&request));
        for (int i = 0; ranks > 0 && i < COUNT; ++i) EXPECT(result[i] == sum_at(ranks, i));
        for (int i = 0; ranks == 0 && i < COUNT; ++i) EXPECT(data[i] == at(me, i));
    }
}

static void collectives(tutti_comm* comm, int me, int ranks) {
    static int32_t in[MOST_RANKS * COUNT], out[MOST_RANKS * COUNT];
    const int last = ranks - 1;

    fill(in, me, 1);
    EXPECT_OK(tutti_all_reduce(comm, in, out, COUNT, TUTTI_INT32, TUTTI_SUM));
    for (int i = 0; i < COUNT; ++i) EXPECT(out[i] == sum_at(ranks, i));
    EXPECT_OK(tutti_all_reduce(comm, TUTTI_IN_PLACE, in, COUNT, TUTTI_INT32, TUTTI_MAX));
    for (int i = 0; i < COUNT; ++i) EXPECT(in[i] == at(last, i));

    fill(in, me, 1);
    EXPECT_OK(tutti_reduce(comm, in, me == last ? out : NULL, COUNT, TUTTI_INT32, TUTTI_SUM, last));
    for (int i = 0; me == last && i < COUNT; ++i) EXPECT(out[i] == sum_at(ranks, i));

    fill(in, me, ranks);
    EXPECT_OK(tutti_reduce_scatter(comm, in, out, COUNT, TUTTI_INT32, TUTTI_SUM));
    for (int i = 0; i < COUNT; ++i) EXPECT(out[i] == sum_at(ranks, me * COUNT + i));
    EXPECT_OK(tutti_reduce_scatter(comm, TUTTI_IN_PLACE, in, COUNT, TUTTI_INT32, TUTTI_SUM));
    for (int i = 0; i < COUNT; ++i) EXPECT(in[me * COUNT + i] == sum_at(ranks, me * COUNT + i));

    fill(in, me, 1);
    EXPECT_OK(tutti_broadcast(comm, in, COUNT, TUTTI_INT32, last));
    for (int i = 0; i < COUNT; ++i) EXPECT(in[i] == at(last, i));

    fill(in, me, 1);
    EXPECT_OK(tutti_all_gather(comm, in, out, COUNT, TUTTI_INT32));
    for (int r = 0; r < ranks; ++r)
        for (int i = 0; i < COUNT; ++i) EXPECT(out[r * COUNT + i] == at(r, i));
    memset(out, 0, sizeof out);
    memcpy(out + me * COUNT, in, COUNT * sizeof *in);
    EXPECT_OK(tutti_all_gather(comm, TUTTI_IN_PLACE, out, COUNT, TUTTI_INT32));
    for (int r = 0; r < ranks; ++r)
        for (int i = 0; i < COUNT; ++i) EXPECT(out[r * COUNT + i] == at(r, i));

    memset(out, 0, sizeof out);
    EXPECT_OK(tutti_gather(comm, in, me == 0 ? out : NULL, COUNT, TUTTI_INT32, 0));
    for (int r = 0; me == 0 && r < ranks; ++r)
        for (int i = 0; i < COUNT; ++i) EXPECT(out[r * COUNT + i] == at(r, i));

    fill(in, me, ranks);
    EXPECT_OK(tutti_scatter(comm, me == last ? in : NULL, out, COUNT, TUTTI_INT32, last));
    for (int i = 0; i < COUNT; ++i) EXPECT(out[i] == at(last, me * COUNT + i));

    rooted_in_place(comm, me, ranks, me == last, 1); /* only the root, as in MPI */
    rooted_in_place(comm, me, ranks, me != last, 0); /* all ranks but the root */
    rooted_in_place(comm, me, ranks, 1, 1);
    EXPECT_OK(tutti_all_to_all(comm, in, out, COUNT, TUTTI_INT32));
    for (int r = 0; r < ranks; ++r)
        for (int i = 0; i < COUNT; ++i) EXPECT(out[r * COUNT + i] == at(r, me * COUNT + i));
    for (int form = 0; form < 4; ++form) prefixes(comm, me, form % 2, form / 2);
    tutti_request* request = NULL;
    EXPECT_OK(tutti_barrier(comm));
    EXPECT_OK(tutti_start_barrier(comm, &request));
    EXPECT_OK(tutti_wait(&request));
}

/* Blocks of different lengths: that of rank r has 300 r elements, and one more in odd rounds. */
static void blocks_of_any_length(tutti_comm* comm, int me, int ranks, int in_place, int started) {
    static int32_t data[MOST_RANKS * COUNT], out[MOST_RANKS * COUNT];
    size_t counts[MOST_RANKS], begins[MOST_RANKS + 1] = {0};
    tutti_request* request = NULL;
    const int root = ranks - 1;
    for (int r = 0; r < ranks; ++r) {
        counts[r] = (size_t)(300 * r + started);
        begins[r + 1] = begins[r] + counts[r];
    }
    const size_t own = counts[me], begin = begins[me], all = begins[ranks];
    const int32_t* const result = in_place ? data : out;
    const void* input = in_place ? TUTTI_IN_PLACE : data;
    int32_t* const output = in_place ? data : out;
    const int place = in_place ? (int)begin : 0;

    memset(data, 0, sizeof data);
    for (int i = 0; i < (int)own; ++i) data[place + i] = at(me, i);
    if (started)
        EXPECT_OK(tutti_start_all_gather_v(comm, input, output, counts, TUTTI_INT32, &request));
    else
        EXPECT_OK(tutti_all_gather_v(comm, input, output, counts, TUTTI_INT32));
    EXPECT_OK(tutti_wait(&request));
    for (int r = 0; r < ranks; ++r)
        for (int i = 0; i < (int)counts[r]; ++i) EXPECT(result[(int)begins[r] + i] == at(r, i));

    for (int i = 0; i < (int)all; ++i) data[i] = at(me, i);
    if (started)
        EXPECT_OK(tutti_start_reduce_scatter_v(comm, input, output, counts, TUTTI_INT32, TUTTI_SUM,
                                               &request));
    else
        EXPECT_OK(tutti_reduce_scatter_v(comm, input, output, counts, TUTTI_INT32, TUTTI_SUM));
    EXPECT_OK(tutti_wait(&request));
    for (int i = 0; i < (int)own; ++i)
        EXPECT(result[place + i] == sum_at(ranks, (int)begin + i));

    /* Only the root, and in place no other rank, has all blocks. */
    const int at_root = me == root && in_place ? (int)begin : 0;
    for (int i = 0; i < (int)own; ++i) data[at_root + i] = at(me, i);
    const size_t* const given = me == root ? counts : NULL;
    if (started)
        EXPECT_OK(tutti_start_gather_v(comm, input, output, own, given, TUTTI_INT32, root,
                                       &request));
    else
        EXPECT_OK(tutti_gather_v(comm, input, output, own, given, TUTTI_INT32, root));
    EXPECT_OK(tutti_wait(&request));
    for (int r = 0; me == root && r < ranks; ++r)
        for (int i = 0; i < (int)counts[r]; ++i) EXPECT(result[(int)begins[r] + i] == at(r, i));

    memset(out, 0, sizeof out);
    for (int i = 0; i < (int)all; ++i) data[i] = me == root ? at(root, i) : 0;
    if (started)
        EXPECT_OK(tutti_start_scatter_v(comm, input, output, own, given, TUTTI_INT32, root,
                                        &request));
    else
        EXPECT_OK(tutti_scatter_v(comm, input, output, own, given, TUTTI_INT32, root));
    EXPECT_OK(tutti_wait(&request));
    for (int i = 0; i < (int)own; ++i) EXPECT(result[at_root + i] == at(root, (int)begin + i));

    /* Rank a sends 10 (a + b) + started elements to rank b. */
    size_t pairs[MOST_RANKS];
    for (int r = 0, i = 0; r < ranks; ++r) {
        pairs[r] = (size_t)(10 * (me + r) + started);
        for (int k = 0; k < (int)pairs[r]; ++k) data[i++] = at(me, 5 * r + k);
    }
    const size_t* const received = in_place ? NULL : pairs;
    if (started)
        EXPECT_OK(tutti_start_all_to_all_v(comm, input, output, pairs, received, TUTTI_INT32,
                                           &request));
    else
        EXPECT_OK(tutti_all_to_all_v(comm, input, output, pairs, received, TUTTI_INT32));
    EXPECT_OK(tutti_wait(&request));
    for (int r = 0, i = 0; r < ranks; ++r)
        for (int k = 0; k < (int)pairs[r]; ++k) EXPECT(result[i++] == at(r, 5 * me + k));
}

/* The root may be in place where other ranks are not, and needs the place of its own block. */
static void root_in_place(tutti_comm* comm, int me, int ranks, void* memory) {
    static int32_t mine[COUNT];
    size_t counts[MOST_RANKS], all = 0, begin = 0;
    const int root = ranks - 1;
    int32_t* const whole = memory;
    for (int r = 0; r < ranks; ++r) {
        counts[r] = (size_t)(7 * r + 2);
        if (r < root) begin += counts[r];
        all += counts[r];
    }
    for (int i = 0; i < (int)counts[me]; ++i) {
        mine[i] = at(me, i);
        if (me == root) whole[(int)begin + i] = at(me, i);
    }
    if (me == root)
        EXPECT_OK(tutti_gather_v(comm, TUTTI_IN_PLACE, whole, counts[me], counts, TUTTI_INT32,
                                 root));
    else
        EXPECT_OK(tutti_gather_v(comm, mine, NULL, counts[me], NULL, TUTTI_INT32, root));
    for (int r = 0, k = 0; me == root && r < ranks; ++r)
        for (int i = 0; i < (int)counts[r]; ++i) EXPECT(whole[k++] == at(r, i));
    for (int i = 0; me == root && i < (int)all; ++i) whole[i] += 1;
    if (me == root)
        EXPECT_OK(tutti_scatter_v(comm, TUTTI_IN_PLACE, whole, counts[me], counts, TUTTI_INT32,
                                  root));
    else
        EXPECT_OK(tutti_scatter_v(comm, NULL, mine, counts[me], NULL, TUTTI_INT32, root));
    for (int i = 0; i < (int)counts[me]; ++i)
        EXPECT((me == root ? whole[(int)begin + i] : mine[i]) == at(me, i) + 1);
}

/* The bytes of the numbers 1 and 2, which all types can represent. */
static void types(tutti_comm* comm, int ranks) {
    static const struct {
        tutti_type type;
        size_t bytes;
        unsigned char one[8], two[8];
    } all[] = {{TUTTI_INT8, 1, {1}, {2}},
               {TUTTI_INT16, 2, {1}, {2}},
               {TUTTI_INT32, 4, {1}, {2}},
               {TUTTI_INT64, 8, {1}, {2}},
               {TUTTI_UINT8, 1, {1}, {2}},
               {TUTTI_UINT16, 2, {1}, {2}},
               {TUTTI_UINT32, 4, {1}, {2}},
               {TUTTI_UINT64, 8, {1}, {2}},
               {TUTTI_HALF, 2, {0, 0x3C}, {0, 0x40}},
               {TUTTI_BFLOAT16, 2, {0x80, 0x3F}, {0, 0x40}},
               {TUTTI_FLOAT, 4, {0, 0, 0x80, 0x3F}, {0, 0, 0, 0x40}},
               {TUTTI_DOUBLE, 8, {0, 0, 0, 0, 0, 0, 0xF0, 0x3F}, {0, 0, 0, 0, 0, 0, 0, 0x40}}};
    for (size_t t = 0; t < sizeof all / sizeof *all; ++t) {
        for (tutti_op op = TUTTI_SUM; op <= TUTTI_AVG; ++op) {
            unsigned char data[8];
            memcpy(data, all[t].one, 8);
            EXPECT_OK(tutti_all_reduce(comm, TUTTI_IN_PLACE, data, 1, all[t].type, op));
            if (op != TUTTI_SUM) EXPECT(memcmp(data, all[t].one, all[t].bytes) == 0);
            if (op == TUTTI_SUM && ranks == 2) EXPECT(memcmp(data, all[t].two, all[t].bytes) == 0);
        }
    }
}

/* Sets element i to a small integer, which all types represent. Returns the bytes of an element. */
static size_t put(void* data, int i, tutti_type type, int value) {
    static const size_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    unsigned char bytes[8] = {0};
    const float number = (float)value;
    const double wide = value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (type == TUTTI_HALF && value > 0)
        bits = (((bits >> 23) - 127 + 15) << 10 | (bits >> 13 & 0x3FF)) << 16;
    if (type == TUTTI_HALF || type == TUTTI_BFLOAT16)
        memcpy(bytes, (unsigned char*)&bits + 2, 2);
    else if (type == TUTTI_FLOAT)
        memcpy(bytes, &number, 4);
    else if (type == TUTTI_DOUBLE)
        memcpy(bytes, &wide, 8);
    else
        bytes[0] = (unsigned char)value;
    memcpy((unsigned char*)data + (size_t)i * sizes[type], bytes, sizes[type]);
    return sizes[type];
}

/* Element i of rank r: 1 to 3, so that all types hold the product of 4 ranks; for averages times
 * the ranks, so that they are whole. */
static int drawn(int r, int i, int round, int ranks, tutti_op op) {
    return (op == TUTTI_AVG ? ranks : 1) * ((5 * r + i + round) % 3 + 1);
}

static int combined(int ranks, int i, int round, tutti_op op) {
    int all = drawn(0, i, round, ranks, op);
    for (int r = 1; r < ranks; ++r) {
        const int one = drawn(r, i, round, ranks, op);
        if (op == TUTTI_SUM || op == TUTTI_AVG) all += one;
        if (op == TUTTI_PROD) all *= one;
        if ((op == TUTTI_MIN && one < all) || (op == TUTTI_MAX && one > all)) all = one;
    }
    return op == TUTTI_AVG ? all / ranks : all;
}

/* Random calls, the same on all ranks, in ordinary and in registered memory. */
static void random_calls(tutti_comm* comm, int me, int ranks) {
    enum { ALL_REDUCE, REDUCE, REDUCE_SCATTER, BROADCAST, ALL_GATHER, GATHER, SCATTER, ALL_TO_ALL };
    static char ordinary[2][MOST_RANKS * COUNT * 8];
    const size_t room = sizeof ordinary[0];
    char expected[8];
    void* registered = NULL;
    EXPECT_OK(tutti_allocate(comm, 2 * room, &registered));
    uint32_t dice = 7;
    for (int round = 0; round < 1000; ++round) {
        int draws[7];
        for (int i = 0; i < 7; ++i) draws[i] = (int)((dice = dice * 1103515245u + 12345) >> 17);
        const int kind = draws[0] % 8, root = draws[1] % ranks;
        const tutti_type type = (tutti_type)(draws[2] % 12);
        const tutti_op op = kind <= REDUCE_SCATTER ? (tutti_op)(draws[3] % 5) : TUTTI_SUM;
        const int count = draws[4] % 9 == 0 ? draws[5] % COUNT : draws[5] % 40;
        /* Only the root is in place in a gather or scatter, so these stay apart here. */
        const int in_place = draws[6] % 2 == 0 && kind != GATHER && kind != SCATTER;
        char* const first = draws[6] / 2 % 2 ? registered : ordinary[0];
        char* const output = in_place ? first : draws[6] / 2 % 2 ? first + room : ordinary[1];
        const size_t bytes_of_block = put(expected, 0, type, 0) * (size_t)count;
        const int blocks = kind == REDUCE_SCATTER || kind == SCATTER || kind == ALL_TO_ALL ? ranks : 1;
        char* const own = in_place && kind == ALL_GATHER ? first + (size_t)me * bytes_of_block : first;
        for (int i = 0; i < blocks * count; ++i)
            put(own, i, type, drawn(me, i, round, ranks, op));
        const void* const input = in_place ? TUTTI_IN_PLACE : first;
        const size_t n = (size_t)count;
        int results = 1; /* blocks that are checked */
        switch (kind) {
            case ALL_REDUCE: EXPECT_OK(tutti_all_reduce(comm, input, output, n, type, op)); break;
            case REDUCE:
                EXPECT_OK(tutti_reduce(comm, input, output, n, type, op, root));
                results = me == root;
                break;
            case REDUCE_SCATTER:
                EXPECT_OK(tutti_reduce_scatter(comm, input, output, n, type, op));
                break;
            case BROADCAST: EXPECT_OK(tutti_broadcast(comm, first, n, type, root)); break;
            case ALL_GATHER:
                EXPECT_OK(tutti_all_gather(comm, input, output, n, type));
                results = ranks;
                break;
            case GATHER:
                EXPECT_OK(tutti_gather(comm, input, output, n, type, root));
                results = me == root ? ranks : 0;
                break;
            case SCATTER: EXPECT_OK(tutti_scatter(comm, input, output, n, type, root)); break;
            default:
                EXPECT_OK(tutti_all_to_all(comm, input, output, n, type));
                results = ranks;
        }
        const char* result = kind == BROADCAST ? first : output;
        if (in_place && kind == REDUCE_SCATTER) result += (size_t)me * bytes_of_block;
        for (int i = 0; i < results * count; ++i) {
            const int block = i / count, place = i % count, mine = me * count + place;
            const size_t size = put(expected, 0, type,
                                    kind <= REDUCE           ? combined(ranks, i, round, op)
                                    : kind == REDUCE_SCATTER ? combined(ranks, mine, round, op)
                                    : kind == BROADCAST      ? drawn(root, i, round, ranks, op)
                                    : kind == SCATTER        ? drawn(root, mine, round, ranks, op)
                                    : kind == ALL_TO_ALL     ? drawn(block, mine, round, ranks, op)
                                                         : drawn(block, place, round, ranks, op));
            if (memcmp(result + (size_t)i * size, expected, size) == 0) continue;
            fprintf(stderr, "round %d: collective %d of %d elements of type %d, operation %d, root %d\n",
                    round, kind, count, (int)type, (int)op, root);
            EXPECT(!"a right result");
        }
    }
    EXPECT_OK(tutti_free(comm, registered, 2 * room));
}

static void started(tutti_comm* comm, int me, int ranks) {
    static double a[COUNT], b[COUNT], c[MOST_RANKS * COUNT];
    for (int i = 0; i < COUNT; ++i) {
        a[i] = me + i;
        b[i] = me == 0 ? i : -1;
        c[me * COUNT + i] = me * i;
    }
    tutti_request *sum = NULL, *sent = NULL, *gathered = NULL;
    EXPECT_OK(
        tutti_start_all_reduce(comm, TUTTI_IN_PLACE, a, COUNT, TUTTI_DOUBLE, TUTTI_SUM, &sum));
    EXPECT_OK(tutti_start_broadcast(comm, b, COUNT, TUTTI_DOUBLE, 0, &sent));
    EXPECT_OK(tutti_start_all_gather(comm, TUTTI_IN_PLACE, c, COUNT, TUTTI_DOUBLE, &gathered));
    EXPECT_OK(tutti_wait(&gathered));
    EXPECT(gathered == NULL);
    for (int done = 0; !done;) EXPECT_OK(tutti_test(&sum, &done));
    EXPECT(sum == NULL);
    EXPECT_OK(tutti_wait(&sent));
    EXPECT_OK(tutti_wait(&sent)); /* NULL by now */
    for (int i = 0; i < COUNT; ++i) {
        EXPECT(a[i] == ranks * (ranks - 1) / 2.0 + (double)ranks * i);
        EXPECT(b[i] == i);
        for (int r = 0; r < ranks; ++r) EXPECT(c[r * COUNT + i] == (double)r * i);
    }
    static int8_t in[MOST_RANKS], out[MOST_RANKS];
    memset(in, me, sizeof in);
    EXPECT_OK(tutti_start_all_to_all(comm, in, out, 1, TUTTI_INT8, &sum));
    EXPECT_OK(tutti_wait(&sum));
    for (int r = 0; r < ranks; ++r) EXPECT(out[r] == r);
    EXPECT_OK(tutti_start_reduce_scatter(comm, in, out, 1, TUTTI_INT8, TUTTI_MAX, &sum));
    EXPECT_OK(tutti_wait(&sum));
    EXPECT(out[0] == ranks - 1);
    EXPECT_OK(tutti_start_reduce(comm, in, out, 1, TUTTI_INT8, TUTTI_MIN, 0, &sum));
    EXPECT_OK(tutti_wait(&sum));
    EXPECT(me != 0 || out[0] == 0);
    EXPECT_OK(tutti_start_scatter(comm, in, out, 1, TUTTI_INT8, 0, &sum));
    EXPECT_OK(tutti_wait(&sum));
    EXPECT(out[0] == 0);
    in[0] = (int8_t)me;
    EXPECT_OK(tutti_start_gather(comm, in, out, 1, TUTTI_INT8, 0, &sum));
    EXPECT_OK(tutti_wait(&sum));
    for (int r = 0; me == 0 && r < ranks; ++r) EXPECT(out[r] == r);
}

static void messages(tutti_comm* comm, int me, int ranks) {
    static char big[3000000];
    if (ranks == 1) {
        EXPECT(tutti_send(comm, big, 1, 0, 0) == TUTTI_USAGE);
        return;
    }
    memset(big, me, sizeof big);
    if (me == 0) {
        EXPECT_OK(tutti_send(comm, big, sizeof big, 1, 5));
        EXPECT_OK(tutti_receive(comm, big, sizeof big, 1, 6));
        EXPECT(big[0] == 1 && big[sizeof big - 1] == 1);
    } else if (me == 1) {
        EXPECT_OK(tutti_receive(comm, big, sizeof big, 0, 5));
        EXPECT(big[0] == 0 && big[sizeof big - 1] == 0);
        memset(big, me, sizeof big);
        EXPECT_OK(tutti_send(comm, big, sizeof big, 0, 6));
    }
}

static void registered(tutti_comm* comm, int me, int ranks) {
    void* memory = NULL;
    EXPECT_OK(tutti_allocate(comm, COUNT * sizeof(float), &memory));
    float* data = memory;
    for (int i = 0; i < COUNT; ++i) {
        EXPECT(data[i] == 0);
        data[i] = (float)(me + 1);
    }
    EXPECT_OK(tutti_all_reduce(comm, TUTTI_IN_PLACE, data, COUNT, TUTTI_FLOAT, TUTTI_SUM));
    for (int i = 0; i < COUNT; ++i) EXPECT(data[i] == (float)(ranks * (ranks + 1) / 2));
    EXPECT_OK(tutti_free(comm, memory, COUNT * sizeof(float)));

    const size_t bytes = (size_t)ranks * COUNT * sizeof(int32_t);
    EXPECT_OK(tutti_allocate(comm, bytes, &memory));
    int32_t* all = memory;
    fill(all, me, 1);
    EXPECT_OK(tutti_gather(comm, TUTTI_IN_PLACE, all, COUNT, TUTTI_INT32, 0));
    for (int r = 0; me == 0 && r < ranks; ++r)
        for (int i = 0; i < COUNT; ++i) EXPECT(all[r * COUNT + i] == at(r, i));
    if (me != 0) memset(all, 0, bytes);
    EXPECT_OK(tutti_scatter(comm, TUTTI_IN_PLACE, all, COUNT, TUTTI_INT32, 0));
    for (int i = 0; i < COUNT; ++i) EXPECT(all[i] == at(me, i));
    size_t counts[MOST_RANKS]; /* every other block is empty */
    for (int r = 0; r < ranks; ++r) counts[r] = (size_t)(r % 2 * COUNT);
    for (int i = 0; me % 2 == 1 && i < COUNT; ++i)
        all[me / 2 * COUNT + i] = at(me, i);
    EXPECT_OK(tutti_all_gather_v(comm, TUTTI_IN_PLACE, all, counts, TUTTI_INT32));
    for (int r = 1; r < ranks; r += 2)
        for (int i = 0; i < COUNT; ++i) EXPECT(all[r / 2 * COUNT + i] == at(r, i));
    EXPECT_OK(tutti_free(comm, memory, bytes));
}

/* Wrong calls send nothing, so the communicator stays usable. */
static void wrong_use(tutti_comm* comm, int me, int ranks) {
    int value = 0;
    size_t counts[MOST_RANKS] = {0};
    EXPECT(tutti_all_gather_v(comm, TUTTI_IN_PLACE, &value, NULL, TUTTI_INT32) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "counts is NULL") != NULL);
    EXPECT(tutti_all_to_all_v(comm, &value, &value, counts, NULL, TUTTI_INT32) == TUTTI_USAGE);
    EXPECT(tutti_gather_v(comm, &value, &value, 1, NULL, TUTTI_INT32, me) == TUTTI_USAGE);
    EXPECT(tutti_gather_v(comm, &value, &value, 1, counts, TUTTI_INT32, me) == TUTTI_USAGE);
    EXPECT(tutti_gather_v(comm, &value, NULL, 1, NULL, TUTTI_INT32, ranks) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "root") != NULL);
    counts[0] = SIZE_MAX;
    EXPECT(tutti_all_gather_v(comm, TUTTI_IN_PLACE, &value, counts, TUTTI_INT32) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "memory") != NULL);
    tutti_comm* none = NULL;
    tutti_options options = TUTTI_OPTIONS_INIT;
    EXPECT(tutti_all_reduce(NULL, TUTTI_IN_PLACE, &value, 1, TUTTI_INT32, TUTTI_SUM) ==
           TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "is NULL") != NULL);
    EXPECT(tutti_broadcast(comm, &value, 1, TUTTI_INT32, ranks) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "root") != NULL);
    EXPECT(tutti_broadcast(comm, &value, 1, (tutti_type)99, 0) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "type 99") != NULL);
    EXPECT(tutti_all_reduce(comm, TUTTI_IN_PLACE, &value, 1, TUTTI_INT32, (tutti_op)9) ==
           TUTTI_USAGE);
    EXPECT(tutti_all_reduce(comm, NULL, &value, 1, TUTTI_INT32, TUTTI_SUM) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "0 bytes") != NULL);
    EXPECT(tutti_all_reduce(comm, &value, &value, 1, TUTTI_INT32, TUTTI_SUM) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "overlap") != NULL);
    for (int shift = 0; shift < 3; ++shift) {  // more than half of the address space
        EXPECT(tutti_all_reduce(comm, TUTTI_IN_PLACE, &value, SIZE_MAX >> shift, TUTTI_INT32,
                                TUTTI_SUM) == TUTTI_USAGE);
        EXPECT(tutti_broadcast(comm, &value, (SIZE_MAX >> shift) + 1, TUTTI_INT32, 0) ==
               (shift == 0 ? TUTTI_OK : TUTTI_USAGE));
    }
    const double no_deadlines[] = {0, -1, NAN};
    for (int i = 0; i < 3; ++i) {
        options.deadline = no_deadlines[i];
        EXPECT(tutti_comm_create_self(&options, &none) == TUTTI_USAGE && none == NULL);
        EXPECT(strstr(tutti_last_error(), "deadline") != NULL);
        EXPECT(tutti_comm_create("tcp://127.0.0.1:1", 1, 2, &options, &none) == TUTTI_USAGE);
    }
    EXPECT(tutti_comm_create("node3", 0, 2, NULL, &none) == TUTTI_USAGE);
    EXPECT(strstr(tutti_last_error(), "tcp://HOST:PORT") != NULL && none == NULL);
    EXPECT(tutti_comm_create(NULL, 0, 2, NULL, &none) == TUTTI_USAGE);
    options.bytes = 3;
    EXPECT(tutti_comm_create_self(&options, &none) == TUTTI_USAGE);
    /* A program that was compiled with a newer header. */
    struct {
        tutti_options known;
        long more[4];
    } newer = {.known = TUTTI_OPTIONS_INIT};
    newer.known.bytes = sizeof newer;
    EXPECT_OK(tutti_comm_create_self(&newer.known, &none));
    tutti_comm_free(none);
    EXPECT(tutti_wait(NULL) == TUTTI_USAGE);
    EXPECT_OK(tutti_all_reduce(comm, TUTTI_IN_PLACE, &value, 1, TUTTI_INT32, TUTTI_SUM));
}

static int as_rank(int me, int ranks, int listening, int port) {
    char address[64];
    tutti_options options = TUTTI_OPTIONS_INIT;
    tutti_comm* comm = NULL;
    rank_of_this = me;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%d", port);
    options.job = "every_call";
    options.background = me % 2; /* may differ between ranks */
    if (ranks > 2) options.deadline = INFINITY;
    if (me == 0) options.listening_socket = listening;
    EXPECT_OK(tutti_comm_create(address, me, ranks, &options, &comm));
    EXPECT(tutti_comm_rank(comm) == me && tutti_comm_size(comm) == ranks);
    collectives(comm, me, ranks);
    for (int i = 0; i < 4; ++i) blocks_of_any_length(comm, me, ranks, i % 2, i / 2);
    static int32_t memory[MOST_RANKS * COUNT];
    root_in_place(comm, me, ranks, memory);
    types(comm, ranks);
    random_calls(comm, me, ranks);
    started(comm, me, ranks);
    messages(comm, me, ranks);
    registered(comm, me, ranks);
    wrong_use(comm, me, ranks);
    tutti_comm_free(comm);
    return 0;
}

int main(int argc, char** argv) {
    const int ranks = argc > 1 ? atoi(argv[1]) : 2;
    EXPECT(tutti_abi_version() == TUTTI_C_ABI_VERSION && tutti_version()[0] != '\0');
    EXPECT(ranks >= 1 && ranks <= MOST_RANKS);
    struct sockaddr_in any;
    socklen_t length = sizeof any;
    memset(&any, 0, sizeof any);
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(bind(listening, (struct sockaddr*)&any, length) == 0 && listen(listening, 64) == 0 &&
           getsockname(listening, (struct sockaddr*)&any, &length) == 0);
    const int port = ntohs(any.sin_port);
    for (int rank = 1; rank < ranks; ++rank)
        if (fork() == 0) {
            close(listening);
            return as_rank(rank, ranks, -1, port);
        }
    int worst = as_rank(0, ranks, listening, port);
    for (int status = 0; wait(&status) > 0;)
        if (status != 0) worst = 1;
    if (worst == 0) printf("all calls are correct on %d ranks\n", ranks);
    return worst;
}
