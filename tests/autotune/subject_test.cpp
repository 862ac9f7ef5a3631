// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/subject.hpp"

#include <gtest/gtest.h>

#include "base/configuration.hpp"
#include "base/error.hpp"

namespace tutti {
namespace {

TEST(Subject, CallsThatAreAnsweredAlikeAreOneSubject) {
    EXPECT_EQ(class_of(Collective::all_reduce, DataType::int16), TypeClass::native);
    EXPECT_EQ(class_of(Collective::all_reduce, DataType::bfloat16), TypeClass::half);
    EXPECT_EQ(class_of(Collective::broadcast, DataType::bfloat16), TypeClass::bytes);
    EXPECT_EQ(class_of(Collective::reduce, Op::max), OpClass::plain);
    EXPECT_EQ(class_of(Collective::reduce, Op::avg), OpClass::average);
    EXPECT_EQ(class_of(Collective::gather, Op::avg), OpClass::none);
}

TEST(Subject, NamesAreReadAndWritten) {
    for (const TypeClass types : {TypeClass::bytes, TypeClass::native, TypeClass::half})
        EXPECT_EQ(parse_as<TypeClass>(name_of(types)), types);
    for (const OpClass ops : {OpClass::none, OpClass::plain, OpClass::average})
        EXPECT_EQ(parse_as<OpClass>(name_of(ops)), ops);
    EXPECT_THROW(parse_as<TypeClass>("float"), Error);
    EXPECT_EQ(to_string(Subject{}), "all_reduce native plain registered");
    EXPECT_EQ(to_string(Subject{Collective::scatter, TypeClass::bytes, OpClass::none,
                                BufferKind::unregistered}),
              "scatter unregistered");
}

TEST(Configuration, NamesWhatIsNotTheDefault) {
    EXPECT_EQ(to_string(Configuration{.algorithm = "ring", .transport = "shm"}), "ring/shm");
    EXPECT_EQ(
        to_string(Configuration{
            .algorithm = "chain", .transport = "mpi", .segment = Bytes{64 * 1024}, .channels = 2}),
        "chain[64K,x2]/mpi");
    EXPECT_EQ(to_string(Configuration{.impl = "mpi"}), "mpi");
    EXPECT_EQ(to_string(Configuration{.impl = "mpi", .algorithm = "ring"}), "mpi/ring");
}

}  // namespace
}  // namespace tutti
