// SPDX-License-Identifier: Apache-2.0
// Checks collectives whose blocks differ between ranks, and scans.
#include <algorithm>
#include <complex>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <string>

#include "preload_conformance.hpp"

namespace {

const auto nowhere = reinterpret_cast<void*>(-8);  // an address that MPI ignores

enum class Layout { in_a_row, backwards, different, some_empty, shuffled_equal, random, one_giant };
constexpr Layout layouts[] = {Layout::in_a_row,   Layout::backwards,      Layout::different,
                              Layout::some_empty, Layout::shuffled_equal, Layout::random,
                              Layout::one_giant};

// Element i of the block from rank r to rank s.
int sent(int r, int s, int i) { return 100 * r + 10 * s + i % 7; }

int length_of(Layout layout, int r, int s, int count) {
    if (layout == Layout::different) return count + (r + s) % 3;
    if (layout == Layout::some_empty) return (r + s) % 2 == 0 ? 0 : count;
    if (layout == Layout::random) {
        const unsigned number = static_cast<unsigned>(31 * r + 17 * s + count) * 2654435761U >> 16;
        return number % 3 == 0 ? 0 : static_cast<int>(number) % (2 * count);
    }
    if (layout == Layout::one_giant) return (r + 2 * s) % 4 == 1 ? 20 * count : 0;
    return count;
}

// The memory of this rank with a block for each rank. Elements are contiguous or have gaps.
class Blocks {
public:
    template <class Length>
    Blocks(const Job& job, Layout layout, bool has_gaps, const Length& length)
        : gapped_(1), step_(has_gaps ? 2 : 1) {
        int most = 0, so_far = 0;
        for (int r = 0; r < job.size; ++r) most = std::max(most, length(r));
        for (int r = 0; r < job.size; ++r) {
            lengths.push_back(length(r));
            const bool is_backwards = layout == Layout::backwards && job.rank % 2 == 0;
            const int slot = is_backwards
                                 ? job.size - 1 - r
                                 : (layout == Layout::shuffled_equal ? (r + 1) % job.size : r);
            const bool is_in_a_row = layout == Layout::in_a_row || layout == Layout::random;
            places.push_back(is_in_a_row ? job.size - 1 + so_far : slot * (most + 1));
            so_far += lengths.back();
        }
        memory.assign(static_cast<std::size_t>(2 * job.size * (most + 1)), -1);
    }

    int* data() { return memory.data(); }
    MPI_Datatype type() const { return step_ == 2 ? gapped_.type() : MPI_INT; }
    int& element(int r, int i) {
        return memory[static_cast<std::size_t>(step_ * (places[static_cast<std::size_t>(r)] + i))];
    }
    int length(int r) const { return lengths[static_cast<std::size_t>(r)]; }
    // Returns whether exactly this many elements were written.
    bool holds(int elements) const {
        return std::ranges::count_if(memory, [](int value) { return value != -1; }) == elements;
    }

    std::vector<int> lengths, places, memory;

private:
    Gapped gapped_;
    int step_;
};

template <class Check>
void in_all_forms(const Job& job, const Check& check) {
    for (const int count : {1, 500, 9000})
        for (const Layout layout : layouts)
            for (const bool has_gaps : {false, true}) check(job, count, layout, has_gaps);
}

void gather_v(const Job& job, int count, Layout layout, bool has_gaps) {
    for (int root = 0; root < job.size; ++root)
        for (const bool in_place : {false, true}) {
            const bool is_root = job.rank == root, is_there = in_place && is_root;
            const auto length = [&](int r) { return length_of(layout, r, root, count); };
            Blocks all(job, layout, has_gaps, length);
            std::vector<int> mine;
            for (int i = 0; i < length(job.rank); ++i) mine.push_back(sent(job.rank, root, i));
            for (int i = 0; is_there && i < length(root); ++i)
                all.element(root, i) = sent(root, root, i);
            MPI_Gatherv(is_there ? MPI_IN_PLACE : mine.data(), length(job.rank), MPI_INT,
                        is_root ? all.data() : nowhere, is_root ? all.lengths.data() : nullptr,
                        is_root ? all.places.data() : nullptr,
                        is_root ? all.type() : MPI_DATATYPE_NULL, root, job.comm);
            int elements = 0;
            bool is_right = true;
            for (int r = 0; is_root && r < job.size; ++r)
                for (int i = 0; i < length(r); ++i, ++elements)
                    is_right = is_right && all.element(r, i) == sent(r, root, i);
            EXPECT(is_right && all.holds(elements));
        }
}

void scatter_v(const Job& job, int count, Layout layout, bool has_gaps) {
    for (int root = 0; root < job.size; ++root)
        for (const bool in_place : {false, true}) {
            const bool is_root = job.rank == root, is_there = in_place && is_root;
            const auto length = [&](int r) { return length_of(layout, r, root, count); };
            Blocks all(job, layout, has_gaps, length);
            for (int r = 0; is_root && r < job.size; ++r)
                for (int i = 0; i < length(r); ++i) all.element(r, i) = sent(root, r, i);
            const auto before = all.memory;
            std::vector<int> mine(static_cast<std::size_t>(length(job.rank) + 1), -1);
            MPI_Scatterv(
                is_root ? all.data() : nowhere, is_root ? all.lengths.data() : nullptr,
                is_root ? all.places.data() : nullptr, is_root ? all.type() : MPI_DATATYPE_NULL,
                is_there ? MPI_IN_PLACE : mine.data(), length(job.rank), MPI_INT, root, job.comm);
            bool is_right = mine.back() == -1 && all.memory == before;
            for (int i = 0; i < length(job.rank); ++i)
                is_right = is_right && mine[static_cast<std::size_t>(i)] ==
                                           (is_there ? -1 : sent(root, job.rank, i));
            EXPECT(is_right);
        }
}

void all_gather_v(const Job& job, int count, Layout layout, bool has_gaps) {
    for (const bool in_place : {false, true}) {
        const auto length = [&](int r) { return length_of(layout, r, 1, count); };
        Blocks all(job, layout, has_gaps && job.rank % 2 == 0, length);
        std::vector<int> mine;
        for (int i = 0; i < length(job.rank); ++i) {
            mine.push_back(sent(job.rank, 1, i));
            if (in_place) all.element(job.rank, i) = mine.back();
        }
        MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), length(job.rank), MPI_INT, all.data(),
                       all.lengths.data(), all.places.data(), all.type(), job.comm);
        int elements = 0;
        bool is_right = true;
        for (int r = 0; r < job.size; ++r)
            for (int i = 0; i < length(r); ++i, ++elements)
                is_right = is_right && all.element(r, i) == sent(r, 1, i);
        EXPECT(is_right && all.holds(elements));
    }
}

void all_to_all_v(const Job& job, int count, Layout layout, bool has_gaps) {
    for (const bool in_place : {false, true}) {
        // In place, each block makes room for the one that arrives.
        const auto length = [&](int from, int to) {
            return in_place ? length_of(layout, std::min(from, to), std::max(from, to), count)
                            : length_of(layout, from, to, count);
        };
        Blocks given(job, Layout::in_a_row, false, [&](int s) { return length(job.rank, s); }),
            all(job, layout, has_gaps && job.rank % 2 == 0,
                [&](int r) { return length(r, job.rank); });
        for (int s = 0; s < job.size; ++s)
            for (int i = 0; i < length(job.rank, s); ++i)
                (in_place ? all : given).element(s, i) = sent(job.rank, s, i);
        MPI_Alltoallv(
            in_place ? MPI_IN_PLACE : given.data(), in_place ? nullptr : given.lengths.data(),
            in_place ? nullptr : given.places.data(), in_place ? MPI_DATATYPE_NULL : given.type(),
            all.data(), all.lengths.data(), all.places.data(), all.type(), job.comm);
        int elements = 0;
        bool is_right = true;
        for (int r = 0; r < job.size; ++r)
            for (int i = 0; i < length(r, job.rank); ++i, ++elements)
                is_right = is_right && all.element(r, i) == sent(r, job.rank, i);
        EXPECT(is_right && all.holds(elements));
    }
}

// MPICH 5.0.2 copies memory onto itself in a large in-place reduce_scatter whose first block is
// empty, and aborts.
bool scatters_sums_in_place() {
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(name, &length);
    std::istringstream words(name);
    std::string library, label, version;
    words >> library >> label >> version;
    return library != "MPICH" || !version.starts_with("5.");
}

template <class T>
void reduce_scatter(const Job& job, MPI_Datatype type, const std::vector<int>& lengths) {
    const auto end = lengths.begin() + job.size;
    const int first = std::accumulate(lengths.begin(), lengths.begin() + job.rank, 0);
    const int total = std::accumulate(lengths.begin(), end, 0);
    const auto count = static_cast<std::size_t>(lengths[static_cast<std::size_t>(job.rank)]);
    for (const bool in_place : {false, true}) {
        if (in_place && lengths[0] == 0 && total > 100'000 && !scatters_sums_in_place()) continue;
        std::vector<T> mine(static_cast<std::size_t>(total + 1));
        for (int i = 0; i < total; ++i)
            mine[static_cast<std::size_t>(i)] = static_cast<T>(given(job.rank, i));
        auto result = in_place ? mine : std::vector<T>(count + 1);
        const T after = result[count];
        MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : mine.data(), result.data(), lengths.data(),
                           type, MPI_SUM, job.comm);
        bool is_right = in_place || result[count] == after;
        for (std::size_t i = 0; i < count; ++i)
            is_right =
                is_right && result[i] == static_cast<T>(combined<int>(MPI_SUM, job.size,
                                                                      first + static_cast<int>(i)));
        EXPECT(is_right);
    }
}

void reduce_scatters(const Job& job) {
    if (job.rank == 0 && !scatters_sums_in_place())
        std::puts(
            "skipped: large in-place reduce_scatter after an empty block (aborts in MPICH 5)");
    for (const int count : {1, 500, 9000})
        for (const Layout layout : layouts) {
            std::vector<int> lengths;
            for (int r = 0; r < job.size; ++r) lengths.push_back(length_of(layout, r, 0, count));
            reduce_scatter<int>(job, MPI_INT, lengths);
            reduce_scatter<double>(job, MPI_DOUBLE, lengths);
            reduce_scatter<std::complex<float>>(job, MPI_C_FLOAT_COMPLEX, lengths);
        }
}

// All calls on one communicator, so that plans serve lengths that vary from call to call.
void vary_lengths(const Job& job) {
    for (int count = 1; count < 3000; count = count * 5 / 4 + 1)
        for (const Layout layout : {Layout::random, Layout::one_giant, Layout::different}) {
            all_gather_v(job, count, layout, false);
            gather_v(job, count, layout, false);
            scatter_v(job, count, layout, false);
            all_to_all_v(job, count, layout, false);
        }
}

template <class T>
void scans(const Job& job, MPI_Datatype type) {
    for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN})
        for (const int count : {0, 1, 7, 1000, 40'000})
            for (const bool in_place : {false, true})
                for (const bool is_exclusive : {false, true}) {
                    const auto mine = given_by<T>(job.rank, count);
                    auto result = in_place ? mine : std::vector<T>(mine.size());
                    const auto before = result;
                    const void* const send = in_place ? MPI_IN_PLACE : mine.data();
                    if (is_exclusive)
                        MPI_Exscan(send, result.data(), count, type, op, job.comm);
                    else
                        MPI_Scan(send, result.data(), count, type, op, job.comm);
                    const int ranks = job.rank + (is_exclusive ? 0 : 1);
                    bool is_right = true;
                    for (int i = 0; ranks > 0 && i < count; ++i)
                        is_right = is_right &&
                                   result[static_cast<std::size_t>(i)] == combined<T>(op, ranks, i);
                    EXPECT(is_right);
                    EXPECT(ranks > 0 || in_place || result == before);
                    EXPECT(in_place || mine == given_by<T>(job.rank, count));
                }
}

void scan_of_complex(const Job& job) {
    const std::vector<std::complex<double>> mine(5, {job.rank + 1.0, 2});
    std::vector<std::complex<double>> result(5);
    MPI_Scan(mine.data(), result.data(), 5, MPI_C_DOUBLE_COMPLEX, MPI_SUM, job.comm);
    const std::complex<double> expected((job.rank + 1) * (job.rank + 2) / 2.0,
                                        2.0 * (job.rank + 1));
    EXPECT(result == std::vector<std::complex<double>>(5, expected));
}

}  // namespace

void check_blocks(const Job& job) {
    in_all_forms(job, gather_v);
    in_all_forms(job, scatter_v);
    in_all_forms(job, all_gather_v);
    in_all_forms(job, all_to_all_v);
    reduce_scatters(job);
    vary_lengths(job);
    scans<int>(job, MPI_INT);
    scans<double>(job, MPI_DOUBLE);
    scan_of_complex(job);
}
