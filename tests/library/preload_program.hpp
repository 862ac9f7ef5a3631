// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of the MPI test programs: ranks, counted checks and test data. Expected values come from
// closed forms.
#include <mpi.h>

#include <cstdio>
#include <vector>

struct Checks {
    long done = 0, wrong = 0;

    void expect(bool is_right, const char* what, const char* file, int line) {
        ++done;
        if (is_right) return;
        if (++wrong > 5) return;
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        std::printf("rank %d, %s:%d: %s\n", rank, file, line, what);
    }
};
inline Checks checks;
#define EXPECT(condition) checks.expect(condition, #condition, __FILE_NAME__, __LINE__)

struct Job {
    int rank = 0, size = 1;
    MPI_Comm comm = MPI_COMM_NULL;

    explicit Job(MPI_Comm its_comm) : comm(its_comm) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
    }
};

// Returns the number of ranks, by an all-reduce of ones.
inline int sum_over(MPI_Comm comm) {
    const int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

// Returns element i of rank r. Values are small, so that sums and products are exact in every type.
constexpr int given(int r, int i) { return (r + 2 * i) % 3 + 1; }

template <class T>
std::vector<T> given_by(int rank, int count) {
    std::vector<T> data(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        data[static_cast<std::size_t>(i)] = static_cast<T>(given(rank, i));
    return data;
}

// Returns the reduction of element i over the ranks, with the overflow of the type.
template <class T>
T combined(MPI_Op op, int ranks, int i) {
    T all = static_cast<T>(given(0, i));
    for (int r = 1; r < ranks; ++r) {
        const T one = static_cast<T>(given(r, i));
        if (op == MPI_SUM) all = static_cast<T>(all + one);
        if (op == MPI_PROD) all = static_cast<T>(all * one);
        if (op == MPI_MAX && one > all) all = one;
        if (op == MPI_MIN && one < all) all = one;
    }
    return all;
}

// A datatype of `count` integers with a gap after each.
class Gapped {
public:
    explicit Gapped(int count) {
        MPI_Type_vector(count, 1, 2, MPI_INT, &vector_);
        MPI_Type_create_resized(vector_, 0, 2 * count * static_cast<MPI_Aint>(sizeof(int)), &type_);
        MPI_Type_commit(&type_);
    }
    ~Gapped() {
        MPI_Type_free(&type_);
        MPI_Type_free(&vector_);
    }
    Gapped(const Gapped&) = delete;
    Gapped& operator=(const Gapped&) = delete;
    MPI_Datatype type() const { return type_; }

private:
    MPI_Datatype vector_ = MPI_DATATYPE_NULL, type_ = MPI_DATATYPE_NULL;
};
