// SPDX-License-Identifier: Apache-2.0
#include "base/rounding.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace tutti {

TEST(Rounding, GoesUpToTheNextWholeUnit) {
    static_assert(divide_up(0, 4) == 0 && divide_up(1, 4) == 1 && divide_up(4, 4) == 1);
    static_assert(round_up(0, 4) == 0 && round_up(5, 4) == 8 && round_up(8, 4) == 8);
    EXPECT_EQ(round_up(std::int64_t{5} << 40, 3), (std::int64_t{5} << 40) + 1);
    EXPECT_EQ(divide_up(std::size_t{65}, 64), 2u);
}

}  // namespace tutti
