// SPDX-License-Identifier: Apache-2.0
#include "base/collective_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/messages.hpp"

namespace tutti {

TEST(CollectiveForms, ComeBackFromTheirNames) {
    for (const CollectiveForm& form : all_collective_forms())
        EXPECT_EQ(parse_collective_form(name_of(form)), form);
    EXPECT_EQ(name_of(CollectiveForm{Collective::all_to_all, true}), "all_to_all_v");
}

TEST(CollectiveForms, HaveLengthsOnlyIfThereAreBlocks) {
    const auto with_lengths =
        std::ranges::count_if(all_collective_forms(), &CollectiveForm::has_lengths);
    EXPECT_EQ(with_lengths, 5);
    EXPECT_NE(refusal_by([] { parse_collective_form("all_reduce_v"); }).find("'all_reduce'"),
              std::string::npos);
    EXPECT_NE(refusal_by([] { parse_collective_form("gather-v"); }).find("'gather_v'"),
              std::string::npos);
}

}  // namespace tutti
