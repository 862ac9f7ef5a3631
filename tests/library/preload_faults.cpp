// SPDX-License-Identifier: Apache-2.0
// MPI programs with faults, run by preload_test.py.
//   preload_faults different    ranks make different calls
//   preload_faults length       a rank sends more than the others expect
//   preload_faults lost         a rank exits during the job
//   preload_faults spawn        ranks of another job, without tutti, join those of this one
#include <unistd.h>

#include <string_view>

#include "preload_program.hpp"

namespace {

// The communicator's error handler gets tutti's error. The MPI library does all later calls.
void make_different_calls(const Job& job) {
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_dup(job.comm, &mine);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    std::vector<int> data(10, 1), sum(10);
    int error_class = 0;
    const int count = 1 + job.rank;
    MPI_Error_class(MPI_Allreduce(data.data(), sum.data(), count, MPI_INT, MPI_SUM, mine),
                    &error_class);
    EXPECT(error_class == MPI_ERR_OTHER);
    EXPECT(MPI_Allreduce(data.data(), sum.data(), 10, MPI_INT, MPI_SUM, mine) == MPI_SUCCESS);
    EXPECT(sum[9] == job.size);
    MPI_Comm_free(&mine);
    sum[9] = 0;
    MPI_Allreduce(data.data(), sum.data(), 10, MPI_INT, MPI_SUM, job.comm);
    EXPECT(sum[9] == job.size);
    if (job.rank == 0) std::printf("%ld wrong\n", checks.wrong);
}

// Only the rank that sends too much gets an error, also if equal calls came before.
void send_too_much(const Job& job) {
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_dup(job.comm, &mine);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    constexpr int count = 10;
    const auto size = static_cast<std::size_t>(job.size);
    const std::vector<int> counts(size, count), data(count + 1, job.rank);
    std::vector<int> places;
    for (int rank = 0; rank < job.size; ++rank) places.push_back(rank * count);
    for (int call = 0; call < 6; ++call) {
        std::vector<int> all(size * count, -1);
        const bool sends_more = job.rank == 1 && call % 3 == 2;
        int error_class = 0;
        MPI_Error_class(MPI_Allgatherv(data.data(), sends_more ? count + 1 : count, MPI_INT,
                                       all.data(), counts.data(), places.data(), MPI_INT, mine),
                        &error_class);
        EXPECT(error_class == (sends_more ? MPI_ERR_OTHER : MPI_SUCCESS));
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT(all[i] == static_cast<int>(i) / count);
    }
    MPI_Comm_free(&mine);
    if (job.rank == 0) std::printf("%ld wrong\n", checks.wrong);
}

// Makes calls on the ranks of both jobs.
void do_calls_together(MPI_Comm other_job) {
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Intercomm_merge(other_job, 0, &both);
    const Job job(both);
    for (int i = 0; i < 400; ++i) {  // far more calls than tutti waits for
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, both);
        EXPECT(sum == job.size * i);
    }
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&other_job);
}

void spawn_another_job(const Job& job, char* this_program) {
    char unset[] = "-u", preload[] = "LD_PRELOAD", word[] = "spawned";
    char* words[] = {unset, preload, this_program, word, nullptr};
    MPI_Comm other_job = MPI_COMM_NULL;
    MPI_Comm_spawn("env", words, 1, MPI_INFO_NULL, 0, job.comm, &other_job, MPI_ERRCODES_IGNORE);
    do_calls_together(other_job);
    if (job.rank == 0) std::printf("%ld wrong\n", checks.wrong);
}

void lose_a_rank(const Job& job) {
    int one = 1, sum = 0;
    for (int i = 0; i < 100; ++i) {
        if (i == 50 && job.rank == 1) _exit(3);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, job.comm);
    }
    std::printf("not reached\n");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Job job(MPI_COMM_WORLD);
    MPI_Comm parents = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parents);
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "lost")
        lose_a_rank(job);
    else if (what == "length")
        send_too_much(job);
    else if (what == "spawn")
        spawn_another_job(job, argv[0]);
    else if (what == "spawned")
        do_calls_together(parents);
    else
        make_different_calls(job);
    MPI_Finalize();
    return checks.wrong == 0 ? 0 : 1;
}
