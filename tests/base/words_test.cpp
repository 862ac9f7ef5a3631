// SPDX-License-Identifier: Apache-2.0
#include "base/words.hpp"

#include <gtest/gtest.h>

namespace tutti {

TEST(Words, HaveTheUnitThatSuits) {
    EXPECT_EQ(in_words(Bytes{512}), "512 bytes");
    EXPECT_EQ(in_words(Bytes{1536}), "1.5 KiB");
    EXPECT_EQ(in_words(Bytes{std::int64_t{373} << 30}), "373.0 GiB");
}

TEST(Words, AreSingularForOne) {
    EXPECT_EQ(counted(1, "replica"), "1 replica");
    EXPECT_EQ(counted(0, "replica"), "0 replicas");
    EXPECT_EQ(counted(8, "micro-batch"), "8 micro-batches");
}

}  // namespace tutti
