// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "library/mpi/turns.hpp"
#include "tests/golden/golden.hpp"

namespace tutti {
namespace {

// Returns a letter for each call: l for the MPI library, t for tutti, capitals for timed calls.
// Calls of the library take 100 ns, those of tutti 50 ns.
std::string turns_of(ClassTurns& turns, const PreloadSettings& settings, int calls) {
    std::string letters;
    for (int i = 0; i < calls; ++i) {
        const ClassTurns::Turn turn = turns.next(settings);
        const bool is_ours = turn.by == By::tutti;
        letters += is_ours ? (turn.is_timed ? 'T' : 't') : (turn.is_timed ? 'L' : 'l');
        if (turn.is_timed) turns.took(is_ours ? 50 : 100, turn);
    }
    return letters;
}

TEST(ClassTurns, AlternateTheOrderOfEachPair) {
    ClassTurns turns;
    EXPECT_EQ(turns_of(turns, {.turn_calls = 2}, 13), "llttTTLLLLTTT");
    EXPECT_EQ(turns.totals.calls, 13);
    EXPECT_EQ(turns.totals.by_tutti, 7);
    ASSERT_EQ(turns.totals.pairs.size(), 2U);
    for (const BlockPair& pair : turns.totals.pairs) {
        EXPECT_EQ(pair.library, 100);
        EXPECT_EQ(pair.tutti, 50);
    }
}

TEST(ClassTurns, GiveTheLibraryFewCallsForAReport) {
    ClassTurns turns;
    const std::string letters = turns_of(turns, {.reports = true}, 1000);
    EXPECT_EQ(letters.substr(0, 256), std::string(256, 't'));
    EXPECT_EQ(letters.substr(256, 10), "TTTTLLLLtt");
    EXPECT_EQ(turns.totals.calls, 1000);
    EXPECT_EQ(turns.totals.by_tutti, 1000 - 3 * 4);
    EXPECT_EQ(turns.totals.pairs.size(), 3U);
}

TEST(Turns, AddUpOverCommunicators) {
    for (int communicator = 0; communicator < 2; ++communicator) {
        TurnsOfCalls turns;
        turns_of(turns.of(size_class(CallKind::gather, 100)), {.turn_calls = 1}, 4);
        turns.of(size_class(CallKind::gather, 127)).count_passed();
        turns.of(size_class(CallKind::gather, 128)).count_rare();
    }
    const auto all = process_totals();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].totals.calls, 10);
    EXPECT_EQ(all[0].totals.by_tutti, 4);
    EXPECT_EQ(all[0].totals.pairs.size(), 2U);
    EXPECT_EQ(all[1].totals.calls, 2);
    EXPECT_EQ(all[1].totals.rare, 2);
}

// An error handler leaves the second call by longjmp. The next blocks are complete.
TEST(ClassTurns, TimeWholeBlocksAfterALongjmp) {
    ClassTurns turns;
    const PreloadSettings settings{.turn_calls = 1};
    for (int call = 0; call < 3; ++call) {
        const ClassTurns::Turn turn = turns.next(settings);
        if (turn.is_timed) turns.took(1000, turn);
    }
    turns.next(settings);  // never returns
    turns_of(turns, settings, 4);
    ASSERT_EQ(turns.totals.pairs.size(), 2U);
    EXPECT_EQ(turns.totals.pairs[0].library, 100);
    EXPECT_EQ(turns.totals.pairs[0].tutti, 50);
}

// The times are means over the ranks. Tutti's 2,000,000 calls save 0.4 us each: 0.8 s.
TEST(Report, HasTheChangeAndTheSavedTime) {
    std::vector<std::vector<ProcessTotals>> ranks(2);
    ranks[0] = {{size_class(CallKind::broadcast, 5000),
                 {2'500'000, 2'000'000, std::vector<BlockPair>(20, {1500, 900})}}};
    ranks[1] = {{size_class(CallKind::broadcast, 5000),
                 {2'500'000, 2'000'000, std::vector<BlockPair>(25, {500, 300})}},
                {size_class(CallKind::barrier, 0), {3, 0, {}, /*rare=*/2}}};
    expect_golden("library/preload_report.txt", report_of(ranks));
}

}  // namespace
}  // namespace tutti
