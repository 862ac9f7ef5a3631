// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "library/mpi/turns.hpp"

namespace tutti {
namespace {

// Who does the calls, a letter each; capitals are timed, and take 100 ns by the library, 50 by us.
std::string turns_of(ClassTurns& turns, const PreloadSettings& settings, int calls) {
    std::string who;
    for (int i = 0; i < calls; ++i) {
        const ClassTurns::Turn turn = turns.next(settings);
        const bool is_ours = turn.by == By::tutti;
        who += is_ours ? (turn.is_timed ? 'T' : 't') : (turn.is_timed ? 'L' : 'l');
        if (turn.is_timed) turns.took(is_ours ? 50 : 100, turn);
    }
    return who;
}

TEST(ClassTurns, ChangeWhoIsFirstFromPairToPair) {
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

TEST(ClassTurns, GiveTheLibraryFewCallsWhereOnlyAReportIsWanted) {
    ClassTurns turns;
    const std::string who = turns_of(turns, {.reports = true}, 1000);
    EXPECT_EQ(who.substr(0, 256), std::string(256, 't'));
    EXPECT_EQ(who.substr(256, 10), "TTTTLLLLtt");
    EXPECT_EQ(turns.totals.calls, 1000);
    EXPECT_EQ(turns.totals.by_tutti, 1000 - 3 * 4);
    EXPECT_EQ(turns.totals.pairs.size(), 3U);
}

TEST(Turns, AreAddedUpOverCommunicatorsThatEnd) {
    for (int communicator = 0; communicator < 2; ++communicator) {
        Turns turns;
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

// An error handler has left the second call by longjmp: the next blocks are whole.
TEST(ClassTurns, TimeWholeBlocksAfterACallThatDidNotReturn) {
    ClassTurns turns;
    const PreloadSettings settings{.turn_calls = 1};
    for (int call = 0; call < 3; ++call) {
        const ClassTurns::Turn turn = turns.next(settings);
        if (turn.is_timed) turns.took(1000, turn);
    }
    turns.next(settings);  // is left
    turns_of(turns, settings, 4);
    ASSERT_EQ(turns.totals.pairs.size(), 2U);
    EXPECT_EQ(turns.totals.pairs[0].library, 100);
    EXPECT_EQ(turns.totals.pairs[0].tutti, 50);
}

// Means over the ranks; 40 % less, exactly; 1000 calls of 0.4 us less are 0.4 ms.
TEST(Report, TellsTheDifferenceAndWhatItWon) {
    std::vector<std::vector<ProcessTotals>> ranks(2);
    ranks[0] = {{size_class(CallKind::broadcast, 5000),
                 {1200, 1000, std::vector<BlockPair>(20, {1500, 900})}}};
    ranks[1] = {{size_class(CallKind::broadcast, 5000),
                 {1200, 1000, std::vector<BlockPair>(25, {500, 300})}},
                {size_class(CallKind::barrier, 0), {3, 0, {}, /*rare=*/2}}};
    const std::string report = report_of(ranks);
    EXPECT_NE(report.find("# broadcast             4K-8K       1200       1000       1.00       "
                          "0.60     -40.0 %"),
              std::string::npos)
        << report;
    EXPECT_NE(report.find("[-40.0 %, -40.0 %]       0.000\n"), std::string::npos) << report;
    EXPECT_NE(
        report.find(
            "# barrier                   0          3          0   too few calls to compare\n"),
        std::string::npos)
        << report;
    EXPECT_NE(report.find("# tutti: 2 calls went to the MPI library"), std::string::npos) << report;
    EXPECT_NE(report.find("estimate"), std::string::npos);
}

}  // namespace
}  // namespace tutti
