// SPDX-License-Identifier: Apache-2.0
#include "workloads/check/check_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <span>
#include <vector>

#include "tests/workloads/check_reference.hpp"
#include "workloads/check/check_values.hpp"

namespace tutti {

using namespace check_reference;

TEST(CheckData, IsExactInAnyOrderOfCombining) {
    for_each_case(Collective::all_reduce, 131, [](const CheckCase& check) {
        const Terms ascending = every_rank(check);
        const Terms descending(ascending.rbegin(), ascending.rend());
        const Rank last{check.ranks - 1};
        EXPECT_EQ(count_wrong(check, last, combine_inputs(check, ascending)), 0)
            << testing::PrintToString(check);
        EXPECT_EQ(count_wrong(check, last, combine_inputs(check, descending)), 0)
            << testing::PrintToString(check);
        EXPECT_EQ(count_wrong(check, last, combine_inputs(check, ascending, Bracketing::tree)), 0)
            << testing::PrintToString(check);
    });
}

TEST(CheckData, OfEveryCollectiveIsRightOnEveryRank) {
    for (Collective collective : all_collectives())
        for_each_case(collective, 7, [](const CheckCase& check) {
            for (Rank rank : {Rank{0}, Rank{check.root}, Rank{check.ranks - 1}}) {
                const Memory result = right_result(check, rank);
                ASSERT_EQ(result.size(), bytes_of(check, result_count(check, rank)))
                    << testing::PrintToString(check);
                EXPECT_EQ(count_wrong(check, rank, result), 0) << testing::PrintToString(check);
            }
        });
}

TEST(CheckData, OfBlocksOfDifferentLengthsIsRightOnEveryRank) {
    for (Collective collective : all_collectives())
        for_each_case(collective, 7, [](CheckCase check) {
            const CollectiveSpec spec{check.collective, check.ranks, Rank{check.root}};
            if (spec.blocks() == 1 || check.ranks > 16) return;
            std::vector<std::int64_t> counts;  // also 0
            for (std::int64_t i = 0; i < spec.blocks(); ++i) counts.push_back((i * i + 7) % 8);
            const BlockLengths lengths(counts);
            check.lengths = &lengths;
            for (Rank rank : {Rank{0}, Rank{check.root}, Rank{check.ranks - 1}}) {
                Memory result = right_result(check, rank);
                ASSERT_EQ(result.size(), bytes_of(check, result_count(check, rank)))
                    << testing::PrintToString(check);
                EXPECT_EQ(count_wrong(check, rank, result), 0) << testing::PrintToString(check);
                if (result.empty()) continue;
                result.back() ^= std::byte{1};
                EXPECT_EQ(count_wrong(check, rank, result), 1) << testing::PrintToString(check);
            }
        });
}

// The narrowest types are the ones with something to lose.
TEST(CheckData, StaysExactOverThousandsOfRanks) {
    for (DataType type : {DataType::int8, DataType::half, DataType::bfloat16})
        for (Op op : all_ops()) {
            const CheckCase check{.type = type, .op = op, .ranks = 4096, .count = 5, .seed = 1};
            EXPECT_EQ(count_wrong(check, Rank{9}, combine_inputs(check, every_rank(check))), 0)
                << testing::PrintToString(check);
        }
}

// A kernel that adds in a wider type before it divides must find the same averages.
TEST(CheckData, AveragesIntegersWithoutWrapping) {
    for_each_case(Collective::all_reduce, 131, [](const CheckCase& check) {
        if (check.op != Op::avg || size_of(check.type) == 8) return;
        with_type(check.type, [&]<class T>() {
            if constexpr (std::integral<T>) {
                std::vector<std::int64_t> totals(131);
                for (int rank : every_rank(check)) {
                    const std::vector<T> shares = elements_of<T>(input_of(check, Rank{rank}));
                    for (std::size_t i = 0; i < totals.size(); ++i)
                        totals[i] += static_cast<std::int64_t>(shares[i]);
                }
                std::vector<T> averages;
                for (std::int64_t total : totals)
                    averages.push_back(static_cast<T>(total / check.ranks));
                EXPECT_EQ(count_wrong(check, Rank{0}, std::as_bytes(std::span(averages))), 0)
                    << testing::PrintToString(check);
            }
        });
    });
}

TEST(CheckData, CrossesTilesOfInputWithoutASeam) {
    for (int ranks : {1, 3, 33}) {
        const CheckCase check{.op = Op::max, .ranks = ranks, .count = 5000, .seed = 3};
        EXPECT_EQ(count_wrong(check, Rank{0}, combine_inputs(check, every_rank(check))), 0);
    }
}

TEST(CheckData, MayLieAtAnyAddress) {
    const CheckCase check{.collective = Collective::broadcast, .count = 9};
    Memory memory(1 + bytes_of(check, check.count));
    const std::span<std::byte> unaligned = std::span(memory).subspan(1);
    fill_input(check, Rank{0}, unaligned);
    EXPECT_EQ(count_wrong(check, Rank{0}, unaligned), 0);
}

TEST(CheckData, CountsBeyondThirtyTwoBits) {
    const CheckCase check{
        .collective = Collective::all_to_all, .ranks = 4, .count = std::int64_t{1} << 31};
    EXPECT_EQ(input_count(check, Rank{3}), std::int64_t{1} << 33);
    EXPECT_EQ(result_count(check, Rank{3}), std::int64_t{1} << 33);
    EXPECT_NE(check_data::Noise{1}.at(0), check_data::Noise{1}.at(std::int64_t{1} << 32));
}

TEST(CheckData, HoldsNegativeNumbersWhereTheTypeHasThem) {
    for (Collective collective : all_collectives())
        for_each_case(collective, 2048, [](const CheckCase& check) {
            const Memory input = input_of(check, Rank{check.root});
            if (input.empty()) return;  // a barrier
            const bool negative = with_type(check.type, [&]<class T>() {
                if constexpr (std::unsigned_integral<T>) return true;
                return std::ranges::any_of(elements_of<T>(input), [](T value) {
                    return static_cast<double>(static_cast<WideOf<T>>(value)) < 0;
                });
            });
            EXPECT_TRUE(negative) << testing::PrintToString(check);
        });
}

}  // namespace tutti
