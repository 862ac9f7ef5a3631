// SPDX-License-Identifier: Apache-2.0
// Checks each collective from each root and in place, with datatypes that differ between ranks and
// with invalid arguments where MPI ignores them.
#include <cmath>
#include <complex>
#include <cstring>
#include <string_view>

#include "preload_conformance.hpp"

namespace {

// Determined at run time: programs of the standard ABI run with several libraries.
bool runs_mpich() {
#ifdef MPICH_VERSION  // also defined by derivatives of MPICH
    return true;
#endif
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(name, &length);
    return std::string_view(name).starts_with("MPICH");
}
// MPICH 4.0.2 crashes in a large in-place reduce whose root is not rank 0.
bool reduces_in_place_on_any_root() { return !runs_mpich(); }
bool has_one_maximum_with_a_nan() { return !runs_mpich(); }  // on all ranks
constexpr int counts[] = {0, 1, 7, 1000, 40'000};
const auto nowhere = reinterpret_cast<void*>(-8);  // an address that MPI ignores

template <class T>
void all_reduce(const Job& job, MPI_Datatype type) {
    for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN})
        for (const int count : counts)
            for (const bool in_place : {false, true}) {
                const auto mine = given_by<T>(job.rank, count);
                auto all = in_place ? mine : std::vector<T>(mine.size());
                MPI_Allreduce(in_place ? MPI_IN_PLACE : mine.data(), all.data(), count, type, op,
                              job.comm);
                bool is_right = true;
                for (int i = 0; i < count; ++i)
                    is_right = is_right &&
                               all[static_cast<std::size_t>(i)] == combined<T>(op, job.size, i);
                EXPECT(is_right);
                EXPECT(in_place || mine == given_by<T>(job.rank, count));
            }
}

// MPI does not define the result for NaN and signed zeros, but all ranks must get the same.
void all_reduce_of_odd_numbers(const Job& job) {
    if (!has_one_maximum_with_a_nan()) return;
    const double of_rank[] = {std::nan(""), 1.0, -0.0, 0.0};
    for (const MPI_Op op : {MPI_MAX, MPI_MIN})
        for (int turn = 0; turn < 4; ++turn) {
            const double mine = of_rank[(job.rank + turn) % 4];
            double result[2] = {7, 7};  // whether it is NaN, whether it is negative
            double all = 7;
            MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, job.comm);
            result[0] = std::isnan(all) ? 1 : 0;
            result[1] = std::isnan(all) || std::signbit(all) ? 1 : 0;
            std::vector<double> of_all(static_cast<std::size_t>(2 * job.size));
            MPI_Allgather(result, 2, MPI_DOUBLE, of_all.data(), 2, MPI_DOUBLE, job.comm);
            for (std::size_t i = 2; i < of_all.size(); ++i) EXPECT(of_all[i] == of_all[i % 2]);
        }
}

// The sum can be computed part by part, the product cannot.
template <class T>
void all_reduce_of_complex(const Job& job, MPI_Datatype type) {
    using Number = std::complex<T>;
    for (const MPI_Op op : {MPI_SUM, MPI_PROD}) {
        Number expected(op == MPI_SUM ? 0 : 1);
        for (int rank = 0; rank < job.size; ++rank) {
            const Number one(static_cast<T>(rank + 1), 2);
            expected = op == MPI_SUM ? expected + one : expected * one;
        }
        for (const int count : counts) {
            const std::vector<Number> mine(static_cast<std::size_t>(count),
                                           Number(static_cast<T>(job.rank + 1), 2));
            std::vector<Number> all(mine.size());
            MPI_Allreduce(mine.data(), all.data(), count, type, op, job.comm);
            EXPECT(all == std::vector<Number>(mine.size(), expected));
        }
    }
}

void reduce(const Job& job) {
    for (int root = 0; root < job.size; ++root)
        for (const int count : counts)
            for (const bool in_place : {false, true}) {
                if (in_place && root > 0 && !reduces_in_place_on_any_root()) continue;
                const bool is_root = job.rank == root;
                const auto mine = given_by<double>(job.rank, count);
                auto all = mine;
                MPI_Reduce(is_root && in_place ? MPI_IN_PLACE : mine.data(),
                           is_root ? all.data() : nullptr, count, MPI_DOUBLE, MPI_SUM, root,
                           job.comm);
                EXPECT(mine == given_by<double>(job.rank, count));
                for (int i = 0; is_root && i < count; i += 11)
                    EXPECT(all[static_cast<std::size_t>(i)] ==
                           combined<double>(MPI_SUM, job.size, i));
            }
}

// Even ranks use a datatype with gaps, odd ranks a contiguous one.
void broadcast(const Job& job) {
    for (int root = 0; root < job.size; ++root)
        for (const int count : {1, 5, 3000}) {
            const Gapped gapped(count);
            for (const bool has_gaps : {false, true}) {
                const bool is_gapped = has_gaps && job.rank % 2 == 0;
                const int step = is_gapped ? 2 : 1;
                std::vector<int> data(static_cast<std::size_t>(2 * count), -1);
                for (int i = 0; job.rank == root && i < count; ++i)
                    data[static_cast<std::size_t>(i * step)] = given(root, i);
                MPI_Bcast(data.data(), is_gapped ? 1 : count, is_gapped ? gapped.type() : MPI_INT,
                          root, job.comm);
                bool is_right = true;
                for (int i = 0; i < count; ++i)
                    is_right =
                        is_right && data[static_cast<std::size_t>(i * step)] == given(root, i);
                EXPECT(is_right);
                EXPECT(data.back() == -1);
            }
        }
    char text[16] = {};
    std::memcpy(text, job.rank == 0 ? "a word of rank 0" : "................", 16);
    MPI_Bcast(text, 16, MPI_CHAR, 0, job.comm);
    EXPECT(std::memcmp(text, "a word of rank 0", 16) == 0);
}

// A predefined datatype with a gap after the integer.
void broadcast_of_pairs(const Job& job) {
    struct Pair {
        double value;
        int place;
    };
    std::vector<Pair> pairs(100, {-1, -1});
    for (int i = 0; job.rank == 0 && i < 100; ++i)
        pairs[static_cast<std::size_t>(i)] = {0.5 * i, i};
    MPI_Bcast(pairs.data(), 100, MPI_DOUBLE_INT, 0, job.comm);
    EXPECT(pairs.back().value == 49.5 && pairs.back().place == 99);
}

// Broadcasts from absolute addresses.
void broadcast_from_bottom(const Job& job) {
    int one = job.rank == 0 ? 17 : 0;
    double other = job.rank == 0 ? 2.5 : 0;
    MPI_Aint places[2];
    MPI_Get_address(&one, &places[0]);
    MPI_Get_address(&other, &places[1]);
    const int lengths[] = {1, 1};
    const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, places, parts, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, job.comm);
    MPI_Type_free(&type);
    EXPECT(one == 17 && other == 2.5);
}

// Returns whether `all` has the blocks of all ranks, `step` integers apart.
bool are_blocks(const std::vector<int>& all, int ranks, int count, int step) {
    bool is_right = true;
    for (int r = 0; r < ranks; ++r)
        for (int i = 0; i < count; ++i)
            is_right =
                is_right && all[static_cast<std::size_t>((r * count + i) * step)] == given(r, i);
    return is_right;
}

void put_block(std::vector<int>& all, int rank, int count, int step) {
    for (int i = 0; i < count; ++i)
        all[static_cast<std::size_t>((rank * count + i) * step)] = given(rank, i);
}

void all_gather(const Job& job) {
    for (const int count : {1, 7, 3000})
        for (const bool in_place : {false, true})
            for (const bool has_gaps : {false, true}) {
                const Gapped gapped(count);
                const bool is_gapped = has_gaps && job.rank % 2 == 0;
                const int step = is_gapped ? 2 : 1;
                const auto mine = given_by<int>(job.rank, count);
                std::vector<int> all(static_cast<std::size_t>(2 * job.size * count), -1);
                if (in_place) put_block(all, job.rank, count, step);
                MPI_Allgather(in_place ? MPI_IN_PLACE : mine.data(), in_place ? -3 : count, MPI_INT,
                              all.data(), is_gapped ? 1 : count,
                              is_gapped ? gapped.type() : MPI_INT, job.comm);
                EXPECT(are_blocks(all, job.size, count, step));
                EXPECT(all.back() == -1);
            }
}

void gather(const Job& job) {
    for (int root = 0; root < job.size; ++root)
        for (const int count : {1, 7, 3000})
            for (const bool in_place : {false, true})
                for (const bool has_gaps : {false, true}) {
                    const Gapped gapped(count);
                    const bool is_root = job.rank == root;
                    const int step = has_gaps ? 2 : 1;
                    const auto mine = given_by<int>(job.rank, count);
                    std::vector<int> all(static_cast<std::size_t>(2 * job.size * count), -1);
                    if (in_place && is_root) put_block(all, root, count, step);
                    const bool is_gapped = has_gaps && is_root;
                    MPI_Gather(in_place && is_root ? MPI_IN_PLACE : mine.data(), count, MPI_INT,
                               is_root ? all.data() : nowhere,
                               is_root ? (has_gaps ? 1 : count) : -7,
                               is_gapped ? gapped.type() : MPI_INT, root, job.comm);
                    EXPECT(!is_root || are_blocks(all, job.size, count, step));
                    EXPECT(is_root || all.front() == -1);
                }
}

void scatter(const Job& job) {
    for (int root = 0; root < job.size; ++root)
        for (const int count : {1, 7, 3000})
            for (const bool in_place : {false, true})
                for (const bool has_gaps : {false, true}) {
                    const Gapped gapped(count);
                    const bool is_root = job.rank == root;
                    const int step = has_gaps ? 2 : 1;
                    std::vector<int> all(static_cast<std::size_t>(2 * job.size * count), -1);
                    for (int r = 0; is_root && r < job.size; ++r) put_block(all, r, count, step);
                    std::vector<int> mine(static_cast<std::size_t>(count), -1);
                    const bool is_gapped = has_gaps && is_root;
                    MPI_Scatter(is_root ? all.data() : nowhere,
                                is_root ? (has_gaps ? 1 : count) : -7,
                                is_gapped ? gapped.type() : MPI_INT,
                                in_place && is_root ? MPI_IN_PLACE : mine.data(), count, MPI_INT,
                                root, job.comm);
                    if (in_place && is_root)
                        EXPECT(are_blocks(all, job.size, count, step) && mine.front() == -1);
                    else
                        EXPECT(mine == given_by<int>(job.rank, count));
                }
}

// Element i of the block from rank r to rank s.
int sent(int r, int s, int i) { return 100 * r + 10 * s + i % 7; }

void all_to_all(const Job& job) {
    for (const int count : {1, 7, 3000})
        for (const bool in_place : {false, true})
            for (const bool has_gaps : {false, true}) {
                const Gapped gapped(count);
                const bool is_gapped = has_gaps && job.rank % 2 == 0;
                const int step = is_gapped ? 2 : 1;
                std::vector<int> mine(static_cast<std::size_t>(job.size * count));
                std::vector<int> all(2 * mine.size(), -1);
                for (int s = 0; s < job.size; ++s)
                    for (int i = 0; i < count; ++i) {
                        mine[static_cast<std::size_t>(s * count + i)] = sent(job.rank, s, i);
                        if (in_place)
                            all[static_cast<std::size_t>((s * count + i) * step)] =
                                sent(job.rank, s, i);
                    }
                MPI_Alltoall(in_place ? MPI_IN_PLACE : mine.data(), count, MPI_INT, all.data(),
                             is_gapped ? 1 : count, is_gapped ? gapped.type() : MPI_INT, job.comm);
                bool is_right = true;
                for (int r = 0; r < job.size; ++r)
                    for (int i = 0; i < count; ++i)
                        is_right =
                            is_right && all[static_cast<std::size_t>((r * count + i) * step)] ==
                                            sent(r, job.rank, i);
                EXPECT(is_right);
            }
}

void reduce_scatter(const Job& job) {
    for (const int count : {1, 7, 3000})
        for (const bool in_place : {false, true}) {
            const auto mine = given_by<float>(job.rank, job.size * count);
            auto result = in_place ? mine : std::vector<float>(static_cast<std::size_t>(count));
            MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : mine.data(), result.data(), count,
                                     MPI_FLOAT, MPI_SUM, job.comm);
            bool is_right = true;
            for (int i = 0; i < count; ++i)
                is_right = is_right && result[static_cast<std::size_t>(i)] ==
                                           combined<float>(MPI_SUM, job.size, job.rank * count + i);
            EXPECT(is_right);
        }
}

// The left operand, whatever the right one is: neither commutes nor adds up.
void leftmost(void* left, void* right, int* count, MPI_Datatype*) {
    std::memcpy(right, left, static_cast<std::size_t>(*count) * sizeof(int));
}

void what_tutti_lacks(const Job& job) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(leftmost, 0, &op);
    const int mine = job.rank + 5;
    int first = 0;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, op, job.comm);
    EXPECT(first == 5);
    MPI_Op_free(&op);

    const struct {
        double value;
        int rank;
    } my_pair{-1.0 * job.rank, job.rank};
    auto least = my_pair;
    MPI_Allreduce(&my_pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, job.comm);
    EXPECT(least.rank == job.size - 1 && least.value == -1.0 * (job.size - 1));

    const int bit = 1 << job.rank;
    int bits = 0;
    MPI_Allreduce(&bit, &bits, 1, MPI_INT, MPI_BOR, job.comm);
    EXPECT(bits == (1 << job.size) - 1);
    const long double long_one = 1;
    long double long_sum = 0;
    MPI_Allreduce(&long_one, &long_sum, 1, MPI_LONG_DOUBLE, MPI_SUM, job.comm);
    EXPECT(long_sum == job.size);
    int so_far = 0;
    const int one = 1;
    MPI_Scan(&one, &so_far, 1, MPI_INT, MPI_SUM, job.comm);
    EXPECT(so_far == job.rank + 1);
}

#if MPI_VERSION >= 4
void large_counts(const Job& job) {
    const auto mine = given_by<int>(job.rank, 1000);
    std::vector<int> all(1000), blocks(static_cast<std::size_t>(1000 * job.size));
    MPI_Allreduce_c(mine.data(), all.data(), MPI_Count{1000}, MPI_INT, MPI_SUM, job.comm);
    EXPECT(all[999] == combined<int>(MPI_SUM, job.size, 999));
    MPI_Allgather_c(mine.data(), MPI_Count{1000}, MPI_INT, blocks.data(), MPI_Count{1000}, MPI_INT,
                    job.comm);
    EXPECT(are_blocks(blocks, job.size, 1000, 1));
    MPI_Bcast_c(all.data(), MPI_Count{1000}, MPI_INT, 0, job.comm);
    EXPECT(all[0] == combined<int>(MPI_SUM, job.size, 0));
}
#endif

}  // namespace

void check_calls(const Job& job) {
    all_reduce<int>(job, MPI_INT);
    all_reduce<unsigned char>(job, MPI_UNSIGNED_CHAR);
    all_reduce<short>(job, MPI_SHORT);
    all_reduce<unsigned long>(job, MPI_UNSIGNED_LONG);
    all_reduce<float>(job, MPI_FLOAT);
    all_reduce<double>(job, MPI_DOUBLE);
    all_reduce_of_odd_numbers(job);
    all_reduce_of_complex<float>(job, MPI_C_FLOAT_COMPLEX);
    all_reduce_of_complex<double>(job, MPI_C_DOUBLE_COMPLEX);
    reduce(job);
    broadcast(job);
    broadcast_of_pairs(job);
    broadcast_from_bottom(job);
    all_gather(job);
    gather(job);
    scatter(job);
    all_to_all(job);
    reduce_scatter(job);
    what_tutti_lacks(job);
#if MPI_VERSION >= 4
    large_counts(job);
#endif
}
