// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace tutti {

TEST(Units, SizesCountIn1024) {
    EXPECT_EQ(parse_bytes("8").count, 8);
    EXPECT_EQ(parse_bytes("4K").count, 4096);
    EXPECT_EQ(parse_bytes("1.5M").count, 1572864);
    EXPECT_EQ(parse_bytes("2GiB").count, 2147483648);
    EXPECT_EQ(to_string(Bytes{4096}), "4K");
    EXPECT_EQ(to_string(Bytes{1000}), "1000");
    EXPECT_EQ(to_string(Bytes{0}), "0");
}

TEST(Units, NonsenseIsRefused) {
    for (const char* text : {"", "K", "-4", "4Q", "4KX", "nan", "inf", "9999999999T"})
        EXPECT_THROW(parse_bytes(text), Error) << text;
    EXPECT_THROW(parse_fraction("5x"), Error);
    EXPECT_THROW(parse_seconds("5h30"), Error);
}

TEST(Units, FractionsAndTimes) {
    EXPECT_DOUBLE_EQ(parse_fraction("2.5%"), 0.025);
    EXPECT_DOUBLE_EQ(parse_fraction("0.1"), 0.1);
    EXPECT_DOUBLE_EQ(parse_seconds("250ms"), 0.25);
    EXPECT_DOUBLE_EQ(parse_seconds("2m"), 120);
    EXPECT_DOUBLE_EQ(parse_seconds("0"), 0);
}

TEST(Units, ATimeHasAUnit) {
    EXPECT_THROW(parse_seconds("0.2"), Error);
    EXPECT_THROW(parse_seconds("20"), Error);
}

TEST(Words, HaveTheUnitThatSuits) {
    EXPECT_EQ(describe(Bytes{512}), "512 bytes");
    EXPECT_EQ(describe(Bytes{1536}), "1.5 KiB");
    EXPECT_EQ(describe(Bytes{std::int64_t{373} << 30}), "373.0 GiB");
}

TEST(Words, AreSingularForOne) {
    EXPECT_EQ(counted(1, "replica"), "1 replica");
    EXPECT_EQ(counted(0, "replica"), "0 replicas");
    EXPECT_EQ(counted(8, "micro-batch"), "8 micro-batches");
}

}  // namespace tutti
