// SPDX-License-Identifier: Apache-2.0
// Repeats calls with the same arguments while the data, and what handles mean, change.
#include <algorithm>
#include <random>
#include <span>
#include <utility>

#include "preload_conformance.hpp"

namespace {

constexpr int calls = 40;
constexpr int lengths[] = {1, 2, 5000};

// The element `i` that a rank gives in a call.
int element(int call, int rank, int i) { return 1000 * call + 10 * rank + i % 7; }

std::vector<int> vector_of(int call, int rank, int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = element(call, rank, i);
    return all;
}

// Each buffer has the same address in all calls.
class Buffers {
public:
    explicit Buffers(const Job& job, int count) : all(static_cast<std::size_t>(job.size * count)) {}

    std::vector<int> all, mine = all, result = all;
    void give(const std::vector<int>& data) { std::ranges::copy(data, mine.begin()); }
};

std::vector<int> blocks_of_all(const Job& job, int call, int count) {
    std::vector<int> all;
    for (int rank = 0; rank < job.size; ++rank)
        for (const int number : vector_of(call, rank, count)) all.push_back(number);
    return all;
}

void with_a_root(const Job& job, int count) {
    Buffers buffers(job, count);
    for (int call = 0; call < calls; ++call) {
        const int root = call / 8 % job.size;
        buffers.give(vector_of(call, job.rank, count));
        MPI_Bcast(buffers.mine.data(), count, MPI_INT, root, job.comm);
        const auto end = buffers.mine.begin() + count;
        EXPECT(std::vector(buffers.mine.begin(), end) == vector_of(call, root, count));

        const auto of_all = blocks_of_all(job, call, count);
        buffers.give(vector_of(call, job.rank, count));
        MPI_Gather(buffers.mine.data(), count, MPI_INT, buffers.all.data(), count, MPI_INT, root,
                   job.comm);
        EXPECT(job.rank != root || buffers.all == of_all);

        if (job.rank == root) {  // only the root is in place, with its own block there
            std::ranges::fill(buffers.all, -1);
            std::ranges::copy(vector_of(call, root, count), buffers.all.begin() + root * count);
        }
        MPI_Gather(job.rank == root ? MPI_IN_PLACE : buffers.mine.data(), count, MPI_INT,
                   buffers.all.data(), count, MPI_INT, root, job.comm);
        EXPECT(job.rank != root || buffers.all == of_all);

        if (job.rank == root) buffers.give(vector_of(call, root, count));
        MPI_Reduce(job.rank == root ? MPI_IN_PLACE : buffers.mine.data(), buffers.mine.data(),
                   count, MPI_INT, MPI_MAX, root, job.comm);
        EXPECT(job.rank != root ||
               std::vector(buffers.mine.begin(), end) == vector_of(call, job.size - 1, count));

        if (job.rank == root) buffers.all = of_all;
        MPI_Scatter(buffers.all.data(), count, MPI_INT, buffers.result.data(), count, MPI_INT, root,
                    job.comm);
        const auto end_of_result = buffers.result.begin() + count;
        EXPECT(std::vector(buffers.result.begin(), end_of_result) ==
               vector_of(call, job.rank, count));
    }
}

void without_a_root(const Job& job, int count) {
    Buffers buffers(job, count);
    for (int call = 0; call < calls; ++call) {
        buffers.give(vector_of(call, job.rank, count));
        MPI_Allgather(buffers.mine.data(), count, MPI_INT, buffers.all.data(), count, MPI_INT,
                      job.comm);
        EXPECT(buffers.all == blocks_of_all(job, call, count));

        for (const bool in_place : {false, true}) {
            buffers.give(vector_of(call, job.rank, count));
            if (in_place) buffers.result = buffers.mine;
            MPI_Allreduce(in_place ? MPI_IN_PLACE : buffers.mine.data(), buffers.result.data(),
                          count, MPI_INT, call % 2 == 0 ? MPI_MAX : MPI_MIN, job.comm);
            const int by_rank = call % 2 == 0 ? job.size - 1 : 0;
            const auto end = buffers.result.begin() + count;
            EXPECT(std::vector(buffers.result.begin(), end) == vector_of(call, by_rank, count));
        }
    }
}

// Equal blocks that lie side by side on some ranks only, not from the start of the buffer.
void of_equal_blocks(const Job& job, int count) {
    for (const auto& [gap, in_place] : {std::pair{0, false}, {0, true}, {job.rank % 2, false}}) {
        const int distance = count + gap, first = 3;
        const std::vector<int> counts(static_cast<std::size_t>(job.size), count);
        std::vector<int> places, all(static_cast<std::size_t>(first + job.size * distance));
        for (int rank = 0; rank < job.size; ++rank) places.push_back(first + rank * distance);
        for (int call = 0; call < calls; ++call) {
            const auto mine = vector_of(call, job.rank, count);
            std::ranges::fill(all, -1);
            if (in_place) std::ranges::copy(mine, all.begin() + first + job.rank * distance);
            MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), count, MPI_INT, all.data(),
                           counts.data(), places.data(), MPI_INT, job.comm);
            bool is_right = std::ranges::count(all, -1) == first + job.size * gap;
            for (int rank = 0; rank < job.size; ++rank)
                is_right = is_right &&
                           std::ranges::equal(
                               vector_of(call, rank, count),
                               std::span(all).subspan(
                                   static_cast<std::size_t>(first + rank * distance), mine.size()));
            EXPECT(is_right);
        }
    }
}

// Every second rank has negative numbers, which are large without a sign.
std::vector<int> with_sign(int call, int rank, int count) {
    auto all = vector_of(call, rank, count);
    if (rank % 2 == 1)
        for (int& number : all) number = -number - 1;
    return all;
}

std::vector<int> best_of_all(const Job& job, int call, int count, bool is_max, bool is_unsigned) {
    auto best = with_sign(call, 0, count);
    for (int rank = 1; rank < job.size; ++rank) {
        const auto other = with_sign(call, rank, count);
        for (std::size_t i = 0; i < best.size(); ++i) {
            const bool is_less =
                is_unsigned ? static_cast<unsigned>(best[i]) < static_cast<unsigned>(other[i])
                            : best[i] < other[i];
            if (is_less == is_max) best[i] = other[i];
        }
    }
    return best;
}

// Each rank has its own order of buffers, so other calls of it are known. All ranks must still
// choose the same implementation, whatever the length, root, type and operation.
void in_memory_that_each_rank_changes(const Job& job) {
    constexpr int most = 5000, turns = 4000;
    std::mt19937 together(1), alone(static_cast<unsigned>(job.rank));
    std::vector<Buffers> places(5, Buffers(job, most));
    const MPI_Datatype types[] = {MPI_INT, MPI_UNSIGNED, MPI_INT32_T};
    for (int turn = 0; turn < turns; ++turn) {
        Buffers& place = places[alone() % places.size()];
        const auto octave = 1U << together() % 13;
        const auto beyond = static_cast<int>(together() % (together() % 2 == 0 ? 3 : octave));
        const int count = std::min(most, static_cast<int>(octave) + beyond);
        const int root = static_cast<int>(together() % 4) % job.size;
        const std::size_t number = together() % 3;
        const MPI_Datatype type = types[number];
        const bool is_max = together() % 2 == 0;
        const auto mine = with_sign(turn, job.rank, count);
        const auto begins_with = [&](const std::vector<int>& data, const std::vector<int>& begin) {
            return std::equal(begin.begin(), begin.end(), data.begin());
        };
        const auto best = [&] { return best_of_all(job, turn, count, is_max, number == 1); };
        place.give(mine);
        switch (together() % 4) {
            case 0:
                MPI_Bcast(place.mine.data(), count, MPI_INT, root, job.comm);
                EXPECT(begins_with(place.mine, with_sign(turn, root, count)));
                break;
            case 1:
                MPI_Allreduce(place.mine.data(), place.result.data(), count, type,
                              is_max ? MPI_MAX : MPI_MIN, job.comm);
                EXPECT(begins_with(place.result, best()));
                break;
            case 2:
                MPI_Gather(place.mine.data(), count, MPI_INT, place.all.data(), count, MPI_INT,
                           root, job.comm);
                for (int rank = 0; job.rank == root && rank < job.size; ++rank)
                    EXPECT(
                        std::ranges::equal(std::span(place.all).subspan(
                                               static_cast<std::size_t>(rank * count), mine.size()),
                                           with_sign(turn, rank, count)));
                break;
            default:
                MPI_Reduce(place.mine.data(), place.result.data(), count, type,
                           is_max ? MPI_MAX : MPI_MIN, root, job.comm);
                EXPECT(job.rank != root || begins_with(place.result, best()));
        }
    }
}

// A program frees a type and makes another one, which may get the same handle.
void of_types_with_the_same_handle(const Job& job) {
    std::vector<int> data(12);
    for (int call = 0; call < calls; ++call) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        const int blocks = 1 + call % 3;
        MPI_Type_vector(blocks, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < 12; ++i)
            data[static_cast<std::size_t>(i)] = job.rank == 0 ? element(call, 0, i) : -1;
        MPI_Bcast(data.data(), 1, type, 0, job.comm);
        for (int i = 0; i < 12; ++i) {
            const bool is_sent = job.rank == 0 || (i % 2 == 0 && i / 2 < blocks);
            EXPECT(data[static_cast<std::size_t>(i)] == (is_sent ? element(call, 0, i) : -1));
        }
        MPI_Type_free(&type);
    }
}

// A communicator that is freed, and another one of other ranks, which may get the same handle.
void on_communicators_with_the_same_handle(const Job& job) {
    int mine = job.rank, sum = 0;
    for (int turn = 0; turn < 6; ++turn) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_split(job.comm, turn % 2 == 0 ? 0 : job.rank % 2, job.rank, &comm);
        const Job part(comm);
        int expected = 0;
        for (int rank = 0; rank < job.size; ++rank)
            if (turn % 2 == 0 || rank % 2 == job.rank % 2) expected += rank;
        for (int call = 0; call < calls; ++call) {
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, part.comm);
            EXPECT(sum == expected);
        }
        MPI_Comm_free(&comm);
    }
}

}  // namespace

void check_repeated_calls(const Job& job) {
    for (const int count : lengths) {
        with_a_root(job, count);
        without_a_root(job, count);
        of_equal_blocks(job, count);
    }
    in_memory_that_each_rank_changes(job);
    of_types_with_the_same_handle(job);
    on_communicators_with_the_same_handle(job);
}
