// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/known_calls.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

ProgramCall of_root(int root) { return {.kind = CallKind::broadcast, .root = root}; }

// A rank finds some calls without asking, because it has their arguments already. Another rank
// asks. Both must still know the same calls, or one would leave a call to the library alone.
TEST(AllLeftCalls, AreForgottenAlikeOnRanksThatAskMoreOften) {
    constexpr int calls = 2000;
    AllLeftCalls one, other;
    std::vector<LeftCalls*> places;
    for (int root = 0; root < calls; ++root) {
        one.of(of_root(root), 8).arm = root;
        LeftCalls& left = other.of(of_root(root), 8);
        left.arm = root;
        places.push_back(&left);
        for (int earlier = root; earlier-- > 0;)  // the oldest one last
            if (places[static_cast<std::size_t>(earlier)]->arm == earlier) {
                EXPECT_EQ(other.of(of_root(earlier), 8).arm, earlier);
            }
    }
    for (int root = calls - 1; root >= 0; --root)
        EXPECT_EQ(one.of(of_root(root), 8).arm, other.of(of_root(root), 8).arm) << root;
}

TEST(KnownCalls, KnowNoCallInAnEmptyPlace) {
    KnownCalls known;
    LeftCalls left;
    known.keep({.call = of_root(1), .left = &left});
    EXPECT_EQ(known.find({}), nullptr);
    ASSERT_NE(known.find(of_root(1)), nullptr);
    EXPECT_EQ(known.find(of_root(1))->left, &left);
    EXPECT_EQ(known.find(of_root(2)), nullptr);
}

ProgramCall sum_of(std::int64_t count, MPI_Datatype type = MPI_DOUBLE, MPI_Op op = MPI_SUM) {
    return {.kind = CallKind::reduce, .count = count, .send_type = type, .type = type, .op = op};
}

TEST(KnownCalls, KnowCallsWithOtherLengthsOfAnOctave) {
    KnownCalls calls;
    LeftCalls left;
    calls.keep({.call = sum_of(9), .left = &left});
    for (const int length : {9, 10, 15}) EXPECT_NE(calls.find(sum_of(length)), nullptr) << length;
    for (const int length : {0, 1, 8, 16, 17}) EXPECT_EQ(calls.find(sum_of(length)), nullptr);
    EXPECT_NE(calls.find(sum_of(9, MPI_DOUBLE, MPI_MAX)), nullptr);
    EXPECT_EQ(calls.find(sum_of(9, MPI_FLOAT)), nullptr);
}

// The predicted call differs only in its length, which is of another octave.
TEST(KnownCalls, FindCallsAfterAWrongPrediction) {
    KnownCalls calls;
    LeftCalls left;
    for (const int length : {9, 40}) calls.keep({.call = sum_of(length), .left = &left});
    for (const int length : {9, 40, 9, 40, 9, 40, 9, 40, 40, 9, 9, 9, 9, 9, 9, 9, 12, 50, 9}) {
        const KnownCall* const known = calls.find(sum_of(length));
        ASSERT_NE(known, nullptr) << length;
        EXPECT_EQ(known->call.count, length < 16 ? 9 : 40) << length;
    }
}

// A gather with 8 characters for each double. A program with another ratio is wrong.
TEST(KnownCalls, KnowOnlyCallsWhoseTwoLengthsGrowAlike) {
    const auto gather = [](std::int64_t characters, std::int64_t doubles) {
        return ProgramCall{
            .send_count = characters, .count = doubles, .send_type = MPI_CHAR, .type = MPI_DOUBLE};
    };
    EXPECT_TRUE(gather(40, 5).is_like(gather(48, 6)));
    EXPECT_FALSE(gather(40, 5).is_like(gather(48, 5)));
    EXPECT_FALSE(gather(40, 0).is_like(gather(0, 5)));
    EXPECT_TRUE(gather(0, 5).is_like(gather(0, 6)));
}

}  // namespace
}  // namespace tutti
