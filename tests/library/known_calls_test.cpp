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

}  // namespace
}  // namespace tutti
