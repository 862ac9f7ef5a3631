// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "autotune/table/selector.hpp"
#include "table_samples.hpp"

namespace tutti {
namespace {

// What was measured in one kind of memory answers for another where the same ways lead there.
TEST(Selector, TakesAnAnswerOfAnotherKindOfMemoryOnlyWithinTheHost) {
    using enum BufferKind;
    const auto answers = [](BufferKind measured, BufferKind asked) {
        Section section{.job_shape = test::two_ranks,
                        .subject = test::subject_of(Collective::all_reduce, measured)};
        section.ranges.push_back({.from = {0}, .choice = test::ours("ring")});
        const Selector selector({.sections = {section}}, test::two_ranks);
        return selector.pick(Collective::all_reduce, DataType::float32, Op::sum, asked,
                             Bytes{1000}) != nullptr;
    };
    for (const auto& [measured, its_name] : NamesOf<BufferKind>::rows)
        for (const auto& [asked, name_of_asked] : NamesOf<BufferKind>::rows) {
            const bool within_host = measured != device && measured != pinned && asked != device;
            EXPECT_EQ(answers(measured, asked), measured == asked || within_host)
                << its_name << " for " << name_of_asked;
        }
}

}  // namespace
}  // namespace tutti
