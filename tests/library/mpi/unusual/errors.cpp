// SPDX-License-Identifier: Apache-2.0
// Calls that fail, and error handlers that return, call longjmp or throw.
#include <csetjmp>
#include <stdexcept>

#include "scenarios.hpp"

namespace {

int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

MPI_Comm copy_that_returns_errors(MPI_Comm comm) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    return copy;
}

// All ranks pass the same wrong arguments, between valid calls.
void return_errors(const Job& world) {
    MPI_Comm comm = copy_that_returns_errors(world.comm);
    const Job job(comm);
    int word = 1, sum = 0;
    for (int i = 0; i < many_calls; ++i) {
        EXPECT(class_of(MPI_Bcast(&word, 1, MPI_INT, job.size, comm)) == MPI_ERR_ROOT);
        EXPECT(class_of(MPI_Bcast(&word, -1, MPI_INT, 0, comm)) == MPI_ERR_COUNT);
        EXPECT(class_of(MPI_Bcast(&word, 1, MPI_DATATYPE_NULL, 0, comm)) == MPI_ERR_TYPE);
        EXPECT(class_of(MPI_Reduce(&word, &sum, 1, MPI_INT, MPI_OP_NULL, 0, comm)) == MPI_ERR_OP);
        EXPECT(class_of(MPI_Gather(&word, 1, MPI_INT, &sum, 1, MPI_INT, job.size, comm)) ==
               MPI_ERR_ROOT);
        check_sum(job, i);
    }
    call_many_of_each_kind(job, 10);
    MPI_Comm_free(&comm);
}

// The last rank sends more than the root's count, after the root has received the other ranks'
// blocks. Error handlers may leave this function by longjmp.
int send_too_much(const Job& job, int count, int too_much) {
    static int sent[3000], received[most_ranks * 3000];
    int counts[most_ranks], places[most_ranks];
    for (int r = 0; r < job.size; ++r) {
        counts[r] = count;
        places[r] = r * 3000;
    }
    return MPI_Gatherv(sent, job.rank == job.size - 1 ? too_much : count, MPI_INT, received, counts,
                       places, MPI_INT, 0, job.comm);
}

void return_truncation(const Job& world) {
    for (const int count : {3, 2000}) {
        MPI_Comm comm = copy_that_returns_errors(world.comm);
        const Job job(comm);
        for (int i = 0; i < many_calls; ++i) {
            const int code = send_too_much(job, count, i % 10 == 9 ? count + 50 : count);
            EXPECT(job.rank != 0 ||
                   class_of(code) == (i % 10 == 9 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        }
        check_sums(job);
        MPI_Comm_free(&comm);
        check_sums(world, 3);
    }
}

std::jmp_buf place_to_go_on;
int handled = 0;
void jump(MPI_Comm*, int*, ...) { std::longjmp(place_to_go_on, 1); }
void throw_exception(MPI_Comm*, int*, ...) { throw std::runtime_error("an error of MPI"); }
void count_errors(MPI_Comm*, int* code, ...) {
    if (class_of(*code) == MPI_ERR_TRUNCATE || class_of(*code) == MPI_ERR_ROOT) ++handled;
}

using Handler = void(MPI_Comm*, int*, ...);
MPI_Comm copy_with_handler(MPI_Comm comm, Handler* function) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm first = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &first);
    MPI_Comm_set_errhandler(first, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_dup(first, &copy);  // the copy inherits the handler
    MPI_Comm_free(&first);
    return copy;
}

// Each rank detects the wrong root before it communicates, and leaves the call by longjmp.
int jump_out(const Job& job) {
    int word = 0;
    if (setjmp(place_to_go_on) != 0) return 1;
    MPI_Bcast(&word, 1, MPI_INT, job.size + 5, job.comm);
    return 0;
}
int jump_out_of_truncation(const Job& job) {
    if (setjmp(place_to_go_on) != 0) return 1;
    send_too_much(job, 3, 50);
    return 0;
}
void leave_by_longjmp(const Job& world) {
    MPI_Comm comm = copy_with_handler(world.comm, jump);
    const Job job(comm);
    for (int i = 0; i < 10; ++i) {
        EXPECT(jump_out(job) == 1);
        check_sums(job, 20);
        check_sums(world, 20);
    }
    MPI_Comm_free(&comm);
}
void leave_truncation_by_longjmp(const Job& world) {
    for (int i = 0; i < 3; ++i) {
        MPI_Comm comm = copy_with_handler(world.comm, jump);
        check_sums(Job(comm));
        EXPECT(jump_out_of_truncation(Job(comm)) == (world.rank == 0 ? 1 : 0));
        call_many_of_each_kind(world, 10, i == 0 ? many_calls : 5);
        MPI_Comm_free(&comm);
    }
}

template <class Call>
bool throws(const Call& call) {
    try {
        call();
        return false;
    } catch (const std::runtime_error&) {
        return true;
    }
}
void leave_by_exception(const Job& world) {
    MPI_Comm comm = copy_with_handler(world.comm, throw_exception);
    const Job job(comm);
    for (int i = 0; i < 10; ++i) {
        int word = 0;
        EXPECT(throws([&] { MPI_Bcast(&word, 1, MPI_INT, job.size + 5, comm); }));
        check_sums(job, 20);
        check_sums(world, 20);
    }
    MPI_Comm_free(&comm);
}
void leave_truncation_by_exception(const Job& world) {
    for (int i = 0; i < 3; ++i) {
        MPI_Comm comm = copy_with_handler(world.comm, throw_exception);
        check_sums(Job(comm));
        EXPECT(throws([&] { send_too_much(Job(comm), 3, 50); }) == (world.rank == 0));
        call_many_of_each_kind(world, 10, i == 0 ? many_calls : 5);
        MPI_Comm_free(&comm);
    }
}

// MPI calls a handler once for each error, with the error's code.
void count_what_is_handled(const Job& world) {
    MPI_Comm comm = copy_with_handler(world.comm, count_errors);
    const Job job(comm);
    handled = 0;
    int word = 0;
    for (int i = 0; i < many_calls; ++i) {
        MPI_Bcast(&word, 1, MPI_INT, job.size, comm);
        EXPECT(handled == i + 1);
        check_sum(job, i);
    }
    handled = 0;
    for (int i = 0; i < 10; ++i) send_too_much(job, 3, 50);
    EXPECT(handled == (job.rank == 0 ? 10 : 0));
    MPI_Comm_free(&comm);
}

// The program exchanges handlers between calls, and calls them itself.
void change_handlers(const Job& world) {
    MPI_Comm comm = copy_with_handler(world.comm, count_errors);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, now = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &handler);
    handled = 0;
    int word = 0;
    for (int i = 0; i < many_calls; ++i) {
        // A plan is made in the first or in the 65th call, which have the program's handler.
        const bool is_own = i % 2 == 0;
        MPI_Comm_set_errhandler(comm, is_own ? handler : MPI_ERRORS_RETURN);
        check_sum(Job(comm), i);
        MPI_Comm_get_errhandler(comm, &now);
        EXPECT(now == (is_own ? handler : MPI_ERRORS_RETURN));
        MPI_Errhandler_free(&now);
        MPI_Bcast(&word, 1, MPI_INT, -1, comm);
        if (is_own) MPI_Comm_call_errhandler(comm, MPI_ERR_TRUNCATE);
    }
    EXPECT(handled == many_calls);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

const Scenarios scenarios(
    {{"returned", "calls with wrong arguments return error codes, and later calls work",
      return_errors},
     {"truncation", "a rank sends more in a Gatherv than the root's count", return_truncation},
     {"longjmp", "an error handler leaves calls by longjmp", leave_by_longjmp},
     {"longjmp_truncation", "an error handler leaves a truncated Gatherv by longjmp",
      leave_truncation_by_longjmp},
     {"exception", "an error handler leaves calls by an exception", leave_by_exception},
     {"exception_truncation", "an error handler leaves a truncated Gatherv by an exception",
      leave_truncation_by_exception},
     {"handled_once", "MPI calls an inherited error handler once for each error",
      count_what_is_handled},
     {"handlers_change", "the program exchanges error handlers between calls", change_handlers}});

}  // namespace
