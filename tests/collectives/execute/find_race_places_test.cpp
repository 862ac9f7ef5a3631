// SPDX-License-Identifier: Apache-2.0
// Races that no algorithm of the catalog can have, with handwritten programs of two ranks: at
// neighbouring places, and with results that are settled early.
#include <gtest/gtest.h>

#include "tests/collectives/find_race.hpp"

namespace tutti {
namespace {

using Programs = std::vector<RankProgram>;

ChunkPlace output(int position) { return {ChunkPlace::In::output, position}; }
MovePlace own(ChunkPlace place) { return {std::nullopt, place}; }
ChunkMove copy(ChunkPlace from, ChunkPlace to) { return {{own(to)}, {own(from)}, 0}; }

// Rank 0 reads position 1 of rank 1; rank 1 waits for that at its end.
Programs reading() {
    Programs programs(2);
    for (RankProgram& program : programs) program.published.resize(2);
    programs[1].published[0] = {output(1)};
    programs[0].steps = {
        {.number = 0,
         .dependencies = {{Rank{1}, 0}},
         .moves = {{{own(output(0))}, {{Rank{1}, {ChunkPlace::In::published, 0}}}, 0}}}};
    programs[1].last_readers = {{Rank{0}, 1}};
    return programs;
}

// Results are settled early where no rank reads any more: at other positions.
TEST(FindRace, NamesAnEarlySettledResultThatAPeerMayStillRead) {
    ASSERT_EQ(find_race(reading()), std::nullopt);
    Programs programs = reading();
    programs[1].settling_early = {copy(output(4), output(1))};
    EXPECT_TRUE(is_race(find_race(programs), {"1 settling its results",
                                              "overwrite output's position 1", "0 at step 0"}));
    // Later it may, because rank 0 has finished reading.
    programs = reading();
    programs[1].settling_late = {copy(output(4), output(1))};
    EXPECT_EQ(find_race(programs), std::nullopt);
}

TEST(FindRace, TellsPlacesApart) {
    const auto settled_at = [](ChunkPlace place) {
        Programs programs = reading();
        programs[1].settling_early = {copy(output(4), place)};
        return find_race(programs).has_value();
    };
    EXPECT_FALSE(settled_at(output(0)));
    EXPECT_TRUE(settled_at(output(1)));
    EXPECT_FALSE(settled_at(output(2)));
    // The same number in another memory is another place.
    for (const auto other :
         {ChunkPlace::In::input, ChunkPlace::In::copy_of_input, ChunkPlace::In::slot})
        EXPECT_FALSE(settled_at({other, 1}));
}

// Rank 0 writes to position 1 of rank 1, which learns at its end that this is over, and before only
// if it has a step that waits.
Programs pushing() {
    Programs programs(2);
    for (RankProgram& program : programs) program.published.resize(2);
    programs[0].steps = {{.number = 0,
                          .dependencies = {{Rank{1}, 0}},
                          .moves = {{{{Rank{1}, output(1), 0}}, {own(output(0))}, 0}}}};
    programs[1].last_readers = {{Rank{0}, 1}};
    return programs;
}

TEST(FindRace, NamesAPushedChunkThatIsSettledBeforeItIsThere) {
    ASSERT_EQ(find_race(pushing()), std::nullopt);
    const auto settling = [](const ChunkMove& move) {
        Programs programs = pushing();
        programs[1].settling_early = {move};
        return programs;
    };
    // Reading or writing there is a use.
    for (const ChunkMove& use : {copy(output(1), output(4)), copy(output(4), output(1))}) {
        EXPECT_TRUE(is_race(find_race(settling(use)), {"0 at step 0", "output's position 1",
                                                       "past that", "1 settling its results"}));
        Programs programs = settling(use);
        programs[1].steps = {{.number = 0, .dependencies = {{Rank{0}, 1}}, .moves = {}}};
        EXPECT_EQ(find_race(programs), std::nullopt);
    }
    EXPECT_EQ(find_race(settling(copy(output(2), output(4)))), std::nullopt);
}

TEST(FindRace, NamesAPushThatTheOwnerDoesNotWaitFor) {
    Programs programs = pushing();
    programs[1].last_readers.clear();
    EXPECT_TRUE(is_race(find_race(programs),
                        {"0 at step 0", "output's position 1", "past that", "1 at its end"}));
}

}  // namespace
}  // namespace tutti
