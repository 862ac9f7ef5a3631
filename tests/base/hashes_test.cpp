// SPDX-License-Identifier: Apache-2.0
#include "base/hashes.hpp"

#include <gtest/gtest.h>

namespace tutti {

// The examples that NIST publishes with FIPS 180-4: no block, one block, two blocks, many.
TEST(Sha256, AgreesWithThePublishedExamples) {
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                     "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Fnv1a, IsThatOfItsAuthors) {
    EXPECT_EQ(fnv1a({}), 0xcbf29ce484222325U);
    EXPECT_EQ(fnv1a(std::as_bytes(std::span("foobar", 6))), 0x85944171f73967e8U);
}

}  // namespace tutti
