// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "../collectives/allocations.hpp"
#include "autotune/table/selector.hpp"
#include "base/error.hpp"
#include "table_samples.hpp"

namespace tutti {
namespace {

using test::ours;
using test::two_ranks;

constexpr std::int64_t huge = std::int64_t{1} << 62;

Section section_for(const Subject& subject, const std::vector<std::int64_t>& froms,
                    const std::string& algorithm = "range") {
    Section section{.job_shape = two_ranks, .subject = subject};
    for (const std::int64_t from : froms)
        section.ranges.push_back({.from = {from}, .choice = ours(algorithm)});
    return section;
}

std::int64_t picked_from(const Selector& selector, std::int64_t bytes) {
    return selector
        .pick(Collective::all_reduce, DataType::float32, Op::sum, BufferKind::registered, {bytes})
        ->from.count;
}

TEST(Selector, FindsTheRangeThatHoldsTheSize) {
    const std::vector<std::int64_t> froms{0, 1, 8, 9, 10, 15, 16, 4096, 5000, 6000, 8191, huge};
    const Selector selector(
        {.sections = {section_for(test::subject_of(Collective::all_reduce), froms)}}, two_ranks);
    for (std::size_t i = 0; i < froms.size(); ++i) {
        EXPECT_EQ(picked_from(selector, froms[i]), froms[i]) << "where a range begins";
        if (i > 0) {
            EXPECT_EQ(picked_from(selector, froms[i] - 1), froms[i - 1]) << "a byte before";
        }
    }
    EXPECT_EQ(picked_from(selector, huge + 1), huge);
    EXPECT_EQ(picked_from(selector, std::numeric_limits<std::int64_t>::max()), huge);
    EXPECT_EQ(picked_from(selector, -1), 0);
}

TEST(Selector, KeepsChoicesForDevicesAndHostsApart) {
    const auto pick = [](const Selector& selector, BufferKind kind) {
        const Range* range =
            selector.pick(Collective::all_reduce, DataType::float32, Op::sum, kind, Bytes{1000});
        return range == nullptr ? "nothing" : range->choice.algorithm;
    };
    const auto section = [](BufferKind kind, const std::string& algorithm) {
        return section_for(test::subject_of(Collective::all_reduce, kind), {0}, algorithm);
    };
    using enum BufferKind;
    const Selector host({.sections = {section(unregistered, "of-host")}}, two_ranks);
    for (const BufferKind kind : {registered, unregistered, pinned})
        EXPECT_EQ(pick(host, kind), "of-host");
    EXPECT_EQ(pick(host, device), "nothing");
    const Selector both({.sections = {section(unregistered, "of-host"),
                                      section(device, "of-device"), section(pinned, "of-pinned")}},
                        two_ranks);
    EXPECT_EQ(pick(both, device), "of-device");
    EXPECT_EQ(pick(both, pinned), "of-pinned");
    EXPECT_EQ(pick(both, registered), "of-host");
}

TEST(Selector, AgreesWithASearchThroughAllRanges) {
    std::mt19937_64 random(7);
    const Table table = test::RandomTables(3).table(40);
    for (const Section& section : table.sections) {
        const Selector selector(table, section.job_shape);
        for (int i = 0; i < 500; ++i) {
            const Bytes bytes{static_cast<std::int64_t>(random() >> (1 + random() % 63))};
            const Range* expected = &section.ranges.front();
            for (const Range& range : section.ranges)
                if (range.from <= bytes) expected = &range;
            const Subject& subject = section.subject;
            const Range* picked =
                selector.pick(subject.collective, DataType::int32, Op::max, subject.buffers, bytes);
            ASSERT_NE(picked, nullptr);
            ASSERT_EQ(*picked, *expected) << bytes.count;
        }
    }
}

TEST(Selector, TakesTheNearestClassThatThereIs) {
    const auto answer = [](const std::vector<Subject>& known, DataType type, Op op,
                           BufferKind buffers) -> std::string {
        Table table;
        for (const Subject& subject : known)
            table.sections.push_back(section_for(subject, {0}, to_string(subject)));
        const Selector selector(table, two_ranks);
        const Range* range = selector.pick(Collective::all_reduce, type, op, buffers, {8});
        return range ? range->choice.algorithm : "nothing";
    };
    const auto all_reduce = [](TypeClass types, OpClass ops, BufferKind buffers) {
        return Subject{Collective::all_reduce, types, ops, buffers};
    };
    using enum BufferKind;
    const Subject plain = all_reduce(TypeClass::native, OpClass::plain, registered);
    const Subject plain_half = all_reduce(TypeClass::half, OpClass::plain, registered);
    const Subject average = all_reduce(TypeClass::native, OpClass::average, registered);
    const Subject unregistered_half = all_reduce(TypeClass::half, OpClass::average, unregistered);
    const std::vector<Subject> all{plain, plain_half, average, unregistered_half};

    EXPECT_EQ(answer(all, DataType::half, Op::sum, registered), to_string(plain_half));
    EXPECT_EQ(answer(all, DataType::half, Op::avg, registered), to_string(plain_half));
    EXPECT_EQ(answer(all, DataType::half, Op::avg, unregistered), to_string(unregistered_half));
    EXPECT_EQ(answer(all, DataType::float64, Op::avg, unregistered), to_string(average));
    EXPECT_EQ(answer(all, DataType::float64, Op::min, unregistered), to_string(plain));
    EXPECT_EQ(answer({plain}, DataType::bfloat16, Op::avg, unregistered), to_string(plain));
    EXPECT_EQ(answer({plain, average}, DataType::half, Op::avg, registered), to_string(average));
    EXPECT_EQ(answer({unregistered_half}, DataType::float32, Op::sum, registered), "nothing");
    EXPECT_EQ(
        answer({test::subject_of(Collective::gather)}, DataType::float32, Op::sum, registered),
        "nothing");
}

TEST(Selector, AnswersMovesWhateverTypeAndOperation) {
    const Selector selector(
        {.sections = {section_for(test::subject_of(Collective::broadcast), {0})}}, two_ranks);
    for (const DataType type : all_data_types())
        for (const Op op : all_ops())
            EXPECT_NE(selector.pick(Collective::broadcast, type, op, BufferKind::unregistered, {0}),
                      nullptr);
}

TEST(Selector, KnowsItsRanksOnly) {
    const Table table{.sections = {section_for(test::subject_of(Collective::broadcast), {0})}};
    JobShape others = two_ranks;
    others.ranks = 3;
    EXPECT_THROW(Selector(table, others), Error);
    EXPECT_THROW(Selector({}, two_ranks), Error);
}

TEST(Selector, StaysWholeWhenCopiedAndMoved) {
    Selector first({.sections = {section_for(test::subject_of(Collective::all_reduce), {0, 64})}},
                   two_ranks);
    Selector copy = first;
    const Selector moved = std::move(first);
    EXPECT_EQ(picked_from(copy, 64), 64);
    EXPECT_EQ(picked_from(moved, 63), 0);
}

TEST(Selector, TakesNoMemory) {
    const Selector selector(
        {.sections = {section_for(test::subject_of(Collective::all_reduce), {0, 9, 15, 4096})}},
        two_ranks);
    const test::AllocationCount allocations;
    std::int64_t sum = 0;
    for (std::int64_t size = 0; size < 10000; ++size) sum += picked_from(selector, size);
    EXPECT_EQ(allocations.so_far(), 0);
    // 0 below 9, 9 for 6 sizes, 15 for 4081, 4096 for the rest.
    EXPECT_EQ(sum, 9 * 6 + 15 * 4081 + 4096 * (10000 - 4096));
}

// Measurements with one kind of memory are used for another if both have the same transports.
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
