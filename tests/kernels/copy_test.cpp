// SPDX-License-Identifier: Apache-2.0
// Copies at the edges of blocks, and not a byte beyond.
#include "kernels/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

TEST(CopyInBlocks, CopiesAllAndNothingMore) {
    constexpr std::size_t block = 256 * 1024, most = 2 * block + 1;
    std::vector<std::byte> from(most);
    for (std::size_t i = 0; i < most; ++i) from[i] = static_cast<std::byte>(i % 251);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, block - 1, block, block + 1, most}) {
        std::vector<std::byte> to(most + 1, std::byte{255});
        copy_in_blocks(to.data(), from.data(), bytes);
        for (std::size_t i = 0; i < to.size(); ++i)
            ASSERT_EQ(to[i], i < bytes ? from[i] : std::byte{255}) << i << " of " << bytes;
    }
}

}  // namespace
}  // namespace tutti
