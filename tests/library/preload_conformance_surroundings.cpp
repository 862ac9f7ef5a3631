// SPDX-License-Identifier: Apache-2.0
// What collectives meet in a program: other communicators and their attributes, messages that need
// progress, error handlers, threads.
#include <unistd.h>

#include <thread>

#include "preload_conformance.hpp"

namespace {

void groups(const Job& job) {
    MPI_Comm backwards = MPI_COMM_NULL, half = MPI_COMM_NULL;
    MPI_Comm_split(job.comm, 0, -job.rank, &backwards);
    int first = job.rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, backwards);
    EXPECT(first == job.size - 1);
    MPI_Comm_split(job.comm, job.rank % 2, job.rank, &half);
    EXPECT(sum_over(half) == (job.size + 1 - job.rank % 2) / 2);
    if (job.size > 1) {
        MPI_Comm between = MPI_COMM_NULL, merged = MPI_COMM_NULL;
        MPI_Intercomm_create(half, 0, job.comm, 1 - job.rank % 2, 3, &between);
        int others = 0;
        const int one = 1;
        MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, between);
        EXPECT(others == (job.size + job.rank % 2) / 2);
        int word = job.rank == 0 ? 99 : -1;
        MPI_Bcast(&word, 1, MPI_INT,
                  job.rank == 0       ? MPI_ROOT
                  : job.rank % 2 == 0 ? MPI_PROC_NULL
                                      : 0,
                  between);
        EXPECT(job.rank % 2 == 0 || word == 99);
        MPI_Barrier(between);
        MPI_Intercomm_merge(between, job.rank % 2, &merged);
        EXPECT(sum_over(merged) == job.size);
        MPI_Comm_free(&merged);
        MPI_Comm_free(&between);
    }
    // Freed in another order on each rank.
    if (job.rank % 2 == 0) MPI_Comm_free(&half);
    MPI_Comm_free(&backwards);
    if (job.rank % 2 != 0) MPI_Comm_free(&half);
}

int copies = 0, deletions = 0;
int count_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
    ++copies;
    *flag = 0;
    return MPI_SUCCESS;
}
int count_deletion(MPI_Comm, int, void*, void*) {
    ++deletions;
    return MPI_SUCCESS;
}

// What tutti has beside a communicator is not the program's to see.
void attributes(const Job& job) {
    copies = deletions = 0;
    MPI_Comm mine = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_dup(job.comm, &mine);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(count_copy, count_deletion, &key, nullptr);
    MPI_Comm_set_attr(mine, key, &key);
    for (int i = 0; i < 5; ++i) EXPECT(sum_over(mine) == job.size);
    EXPECT(copies == 0);
    MPI_Comm_dup(mine, &copy);
    EXPECT(copies == 1);
    EXPECT(sum_over(copy) == job.size);
    MPI_Comm_free(&mine);
    EXPECT(deletions == 1);
    EXPECT(sum_over(copy) == job.size);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&key);
}

// A large message is not received before its sender has come to the next collective, which has to
// move it while it waits.
void progress(const Job& job) {
    if (job.size < 2) return;
    std::vector<int> data(4'000'000, job.rank);
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.rank == 1) MPI_Isend(data.data(), 4'000'000, MPI_INT, 0, 7, job.comm, &request);
    if (job.rank == 0) {
        usleep(20'000);
        MPI_Recv(data.data(), 4'000'000, MPI_INT, 1, 7, job.comm, MPI_STATUS_IGNORE);
        EXPECT(data.front() == 1 && data.back() == 1);
    }
    EXPECT(sum_over(job.comm) == job.size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    const int one = 1;
    int sum = 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, job.comm, &request);
    EXPECT(sum_over(job.comm) == job.size);
    MPI_Barrier(job.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sum == job.size);
}

void errors(const Job& job) {
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_dup(job.comm, &mine);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    int value = 1, error_class = 0;
    MPI_Error_class(MPI_Bcast(&value, 1, MPI_INT, job.size, mine), &error_class);
    EXPECT(error_class == MPI_ERR_ROOT);
    MPI_Error_class(MPI_Bcast(&value, -1, MPI_INT, 0, mine), &error_class);
    EXPECT(error_class == MPI_ERR_COUNT);
    MPI_Error_class(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, mine), &error_class);
    EXPECT(error_class == MPI_ERR_TYPE);
    EXPECT(MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, mine) != MPI_SUCCESS);
    EXPECT(sum_over(mine) == job.size);
    MPI_Comm_free(&mine);
}

}  // namespace

void check_surroundings(const Job& job) {
    groups(job);
    attributes(job);
    progress(job);
    errors(job);
}

void check_threads(const Job& job) {
    MPI_Comm of_thread[2];
    for (MPI_Comm& comm : of_thread) MPI_Comm_dup(job.comm, &comm);
    long wrong[2] = {};
    const auto work = [&](int number) {
        for (int i = 0; i < 200; ++i) {
            if (sum_over(of_thread[number]) != job.size) ++wrong[number];
            int data[100] = {job.rank == i % job.size ? i : -1};
            MPI_Bcast(data, 100, MPI_INT, i % job.size, of_thread[number]);
            if (data[0] != i) ++wrong[number];
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT(wrong[0] == 0 && wrong[1] == 0);
    for (MPI_Comm& comm : of_thread) MPI_Comm_free(&comm);
}
