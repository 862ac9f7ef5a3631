// SPDX-License-Identifier: Apache-2.0
#include "base/types.hpp"

#include <gtest/gtest.h>

#include "tests/base/messages.hpp"

namespace tutti {

TEST(Names, OfEveryTypeOperationAndCollectiveComeBack) {
    for (DataType type : all_data_types()) EXPECT_EQ(parse_data_type(name_of(type)), type);
    for (Op op : all_ops()) EXPECT_EQ(parse_op(name_of(op)), op);
    for (Collective each : all_collectives()) EXPECT_EQ(parse_collective(name_of(each)), each);
    EXPECT_EQ(parse_data_type("bf16"), DataType::bfloat16);
    EXPECT_EQ(parse_data_type("f8e4m3"), DataType::fp8_e4m3);
    EXPECT_EQ(parse_data_type("f8e5m2"), DataType::fp8_e5m2);
    EXPECT_EQ(parse_data_type("fp8_e4m3"), DataType::fp8_e4m3);
}

TEST(Names, AnUnknownOneIsAnsweredWithTheNearest) {
    EXPECT_NE(refusal_by([] { parse_collective("all_reduec"); }).find("did you mean 'all_reduce'"),
              std::string::npos);
    EXPECT_NE(refusal_by([] { parse_data_type("flaot"); }).find("mean 'float'"), std::string::npos);
    const std::string far = refusal_by([] { parse_op("convolution"); });
    EXPECT_EQ(far.find("did you mean"), std::string::npos);
    EXPECT_NE(far.find("prod min max"), std::string::npos);
}

}  // namespace tutti
