// SPDX-License-Identifier: Apache-2.0
// Makes errors of collectives on purpose: the checker must detect each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "tests/workloads/check_reference.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

using namespace check_reference;

// The shortest message that the checker specifies to see faults in, for up to 64 ranks.
constexpr int elements = 64;

bool counts_twice(Op op) { return op != Op::min && op != Op::max; }

std::int64_t wrong_of_terms(const CheckCase& check, const Terms& terms) {
    return count_wrong(check, Rank{0}, combine_inputs(check, terms));
}

Terms without(const CheckCase& check, int missing) {
    Terms terms = every_rank(check);
    std::erase(terms, missing);
    return terms;
}

Terms with(Terms terms, int rank) {
    terms.push_back(rank);
    return terms;
}

/// `visit(check, right result)` on the root, for every type and operation of every collective with
/// a drawn result for each element. A prefix has none where its ranks do not own the element.
void for_each_result(const std::function<void(const CheckCase&, const Memory&)>& visit) {
    for (Collective collective : all_collectives())
        if (has_buffers(collective) && !is_prefix(collective))
            for_each_case(collective, elements, [&](const CheckCase& check) {
                visit(check, right_result(check, Rank{check.root}));
            });
}

std::int64_t wrong_on_root(const CheckCase& check, const Memory& result) {
    return count_wrong(check, Rank{check.root}, result);
}

}  // namespace

TEST(CheckSees, AShareThatIsMissingOrCountedTwice) {
    for_each_case(Collective::all_reduce, elements, [](const CheckCase& check) {
        if (check.ranks == 1) return;
        for (int rank : {0, check.ranks / 2, check.ranks - 1}) {
            EXPECT_GT(wrong_of_terms(check, without(check, rank)), 0)
                << "missing " << rank << ": " << testing::PrintToString(check);
            if (!counts_twice(check.op)) continue;
            EXPECT_GT(wrong_of_terms(check, with(every_rank(check), rank)), 0)
                << "twice " << rank << ": " << testing::PrintToString(check);
        }
    });
}

TEST(CheckSees, AShareThatIsMissingInAPrefixOrNotPartOfIt) {
    for_each_case(Collective::scan, elements, [](const CheckCase& check) {
        const Rank rank{check.ranks / 2};
        const auto wrong = [&](Terms terms, int missing, int more) {
            std::erase(terms, missing);
            for (int other = rank.index + 1; other <= more; ++other) terms.push_back(other);
            return count_wrong(check, rank, combine_inputs(check, terms));
        };
        if (check.ranks == 1) return;
        const Terms right = ranks_before(rank.index + 1);
        EXPECT_GT(wrong(right, 0, 0), 0) << testing::PrintToString(check);
        EXPECT_GT(wrong(right, rank.index, 0), 0) << testing::PrintToString(check);
        if (rank.index + 1 == check.ranks) return;
        EXPECT_GT(wrong(right, -1, rank.index + 1), 0) << testing::PrintToString(check);
    });
}

// Types with room give every rank its own share in every element, so even messages shorter than the
// number of ranks show most errors.
TEST(CheckSees, AFaultOfOneRankOnMostElementsWhereTheTypeHasRoom) {
    for_each_case(Collective::all_reduce, elements, [](const CheckCase& check) {
        if (check.ranks == 1 || size_of(check.type) < 4 || !counts_twice(check.op)) return;
        // Shares of 2^0 only, and averages that round in one direction each: half of the elements
        // at best.
        const bool half = check.op == Op::avg || check.op == Op::prod;
        const int most = half ? elements / 4 : elements - elements / 8;
        EXPECT_GT(wrong_of_terms(check, without(check, 1)), most) << testing::PrintToString(check);
        EXPECT_GT(wrong_of_terms(check, with(every_rank(check), 1)), most)
            << testing::PrintToString(check);
    });
}

// Shares are smaller than the ranks are many: truncation would hide them, were totals anywhere.
TEST(CheckSees, OneShareMoreOrLessInAveragesOfBytes) {
    for (int ranks : {8, 16, 33}) {
        const CheckCase check{
            .type = DataType::uint8, .op = Op::avg, .ranks = ranks, .count = elements};
        EXPECT_GT(wrong_of_terms(check, without(check, 1)), elements / 4) << ranks;
        EXPECT_GT(wrong_of_terms(check, with(every_rank(check), 1)), elements / 4) << ranks;
    }
}

TEST(CheckSees, AShareCountedInsteadOfAnother) {
    for_each_case(Collective::all_reduce, elements, [](const CheckCase& check) {
        if (check.ranks == 1) return;
        const int last = check.ranks - 1;
        for (const auto& [missing, twice] : {std::pair{0, last}, {last, 0}, {last, last - 1}})
            EXPECT_GT(wrong_of_terms(check, with(without(check, missing), twice)), 0)
                << missing << " by " << twice << ": " << testing::PrintToString(check);
    });
}

// Sums of rank numbers, the default check data, stay the same.
TEST(CheckSees, SharesOneAndFourReplacedByTwoAndThree) {
    for_each_case(Collective::all_reduce, elements, [](const CheckCase& check) {
        if (check.ranks < 5) return;
        Terms terms = every_rank(check);
        terms[1] = 2;
        terms[4] = 3;
        EXPECT_GT(wrong_of_terms(check, terms), 0) << testing::PrintToString(check);
    });
}

TEST(CheckSees, SharesCombinedByAnotherOperation) {
    for_each_case(Collective::all_reduce, elements, [](const CheckCase& check) {
        if (check.ranks == 1) return;
        for (Op other : all_ops()) {
            if (other == check.op) continue;
            CheckCase mistaken = check;
            mistaken.op = other;
            const Memory result = combine_inputs(mistaken, every_rank(check));
            EXPECT_GT(count_wrong(check, Rank{0}, result), 0) << testing::PrintToString(check);
        }
    });
}

TEST(CheckSees, AResultShiftedByAnyNumberOfElements) {
    for_each_result([](const CheckCase& check, const Memory& right) {
        const auto size = static_cast<std::ptrdiff_t>(size_of(check.type));
        const auto count = static_cast<int>(right.size()) / static_cast<int>(size);
        Memory shifted = right;
        for (int places = 1; places < std::min(count, 3 * elements); ++places) {
            std::rotate(shifted.begin(), shifted.begin() + size, shifted.end());
            ASSERT_GT(wrong_on_root(check, shifted), elements / 8)
                << "by " << places << ": " << testing::PrintToString(check);
        }
    });
}

TEST(CheckSees, TwoChunksSwapped) {
    for_each_result([](const CheckCase& check, const Memory& right) {
        const auto chunk = static_cast<std::ptrdiff_t>(right.size() / 4);
        for (int other : {1, 2, 3}) {
            Memory swapped = right;
            std::swap_ranges(swapped.begin(), swapped.begin() + chunk,
                             swapped.begin() + other * chunk);
            EXPECT_GT(wrong_on_root(check, swapped), 0) << testing::PrintToString(check);
        }
    });
}

TEST(CheckSees, AResultLeftFromAnotherSeedOrRoot) {
    for_each_result([](const CheckCase& check, const Memory& right) {
        CheckCase later = check;
        ++later.seed;
        EXPECT_GT(wrong_on_root(later, right), elements / 4) << testing::PrintToString(check);
        if (!has_root(check.collective) || check.ranks == 1) return;
        CheckCase moved = check;
        --moved.root;
        const Memory other = right_result(moved, Rank{moved.root});
        EXPECT_GT(wrong_on_root(check, other), elements / 4) << testing::PrintToString(check);
    });
}

TEST(CheckSees, EveryElementThatWasNotWritten) {
    for_each_result([](const CheckCase& check, const Memory& right) {
        Memory result = right;
        const std::size_t size = size_of(check.type);
        poison(std::span(result).last(size));
        EXPECT_EQ(wrong_on_root(check, result), 1) << testing::PrintToString(check);
        poison(std::span(result).first(size));
        EXPECT_EQ(wrong_on_root(check, result), 2) << testing::PrintToString(check);
        poison(result);
        EXPECT_EQ(wrong_on_root(check, result), result_count(check, Rank{check.root}))
            << testing::PrintToString(check);
    });
}

}  // namespace tutti
