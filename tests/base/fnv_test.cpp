// SPDX-License-Identifier: Apache-2.0
#include "base/fnv.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Fnv1a, IsThatOfItsAuthors) {
    EXPECT_EQ(fnv1a({}), 0xcbf29ce484222325U);
    EXPECT_EQ(fnv1a(std::as_bytes(std::span("foobar", 6))), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace tutti
