// SPDX-License-Identifier: Apache-2.0
// Races that no algorithm of the catalog can have, with handwritten programs of two ranks: at the
// edges
// of places, and with results that are settled early.
#include <gtest/gtest.h>

#include "tests/collectives/find_race.hpp"

namespace tutti {
namespace {

using Programs = std::vector<DirectProgram>;

Place registered(std::size_t offset) { return {Place::In::registered, offset}; }
MovePlace own(Place place) { return {std::nullopt, place}; }
DirectMove copy(Place from, Place to, std::size_t bytes) { return {{own(to)}, {own(from)}, bytes}; }

// Rank 0 reads 64 bytes of rank 1 at offset 64; rank 1 waits for that at its end.
Programs reading() {
    Programs programs(2);
    for (DirectProgram& program : programs) program.published.resize(2);
    programs[1].published[0] = {registered(64)};
    programs[0].steps = {
        {.number = 0,
         .dependencies = {{Rank{1}, 0}},
         .moves = {{{own(registered(0))}, {{Rank{1}, {Place::In::published, 0}}}, 64}}}};
    programs[1].last_readers = {{Rank{0}, 1}};
    return programs;
}

// Results are settled early where no rank reads any more: from 128 on, or before 64.
TEST(FindRace, NamesAnEarlySettledResultThatAPeerMayStillRead) {
    ASSERT_EQ(find_race(reading()), std::nullopt);
    Programs programs = reading();
    programs[1].settling_early = {copy(registered(256), registered(64), 64)};
    EXPECT_TRUE(is_race(find_race(programs),
                        {"1 settling its results", "overwrite bytes 64..127", "0 at step 0"}));
    // Later it may, because rank 0 has finished reading.
    programs = reading();
    programs[1].settling_late = {copy(registered(256), registered(64), 64)};
    EXPECT_EQ(find_race(programs), std::nullopt);
}

TEST(FindRace, SeesPlacesThatOverlapByOneByte) {
    const auto settled_at = [](std::size_t offset, std::size_t bytes) {
        Programs programs = reading();
        programs[1].settling_early = {copy(registered(256), registered(offset), bytes)};
        return find_race(programs).has_value();
    };
    EXPECT_FALSE(settled_at(0, 64));
    EXPECT_TRUE(settled_at(0, 65));
    EXPECT_TRUE(settled_at(127, 1));
    EXPECT_TRUE(settled_at(64, 1));
    EXPECT_FALSE(settled_at(128, 64));
    EXPECT_TRUE(settled_at(127, 64));
    EXPECT_TRUE(settled_at(0, 256));
    EXPECT_TRUE(settled_at(80, 8));
    // The same offsets in another memory are different bytes.
    Programs programs = reading();
    programs[1].settling_early = {copy(registered(256), {Place::In::plan, 64}, 64)};
    EXPECT_EQ(find_race(programs), std::nullopt);
}

// Rank 0 writes 64 bytes into rank 1, which learns at its end that this is over, and before only if
// it has a step that waits.
Programs pushing() {
    Programs programs(2);
    for (DirectProgram& program : programs) program.published.resize(2);
    programs[0].steps = {{.number = 0,
                          .dependencies = {{Rank{1}, 0}},
                          .moves = {{{{Rank{1}, registered(64), 0}}, {own(registered(0))}, 64}}}};
    programs[1].last_readers = {{Rank{0}, 1}};
    return programs;
}

TEST(FindRace, NamesAPushedChunkThatIsSettledBeforeItIsThere) {
    ASSERT_EQ(find_race(pushing()), std::nullopt);
    const auto settling = [](const DirectMove& move) {
        Programs programs = pushing();
        programs[1].settling_early = {move};
        return programs;
    };
    // Reading or writing there is a use.
    for (const DirectMove& use :
         {copy(registered(64), registered(256), 64), copy(registered(127), registered(256), 1),
          copy(registered(256), registered(64), 64)}) {
        EXPECT_TRUE(is_race(find_race(settling(use)), {"0 at step 0", "bytes 64..127", "past that",
                                                       "1 settling its results"}));
        Programs programs = settling(use);
        programs[1].steps = {{.number = 0, .dependencies = {{Rank{0}, 1}}, .moves = {}}};
        EXPECT_EQ(find_race(programs), std::nullopt);
    }
    EXPECT_EQ(find_race(settling(copy(registered(128), registered(256), 64))), std::nullopt);
}

TEST(FindRace, NamesAPushThatTheOwnerDoesNotWaitFor) {
    Programs programs = pushing();
    programs[1].last_readers.clear();
    EXPECT_TRUE(is_race(find_race(programs),
                        {"0 at step 0", "bytes 64..127", "past that", "1 at its end"}));
}

}  // namespace
}  // namespace tutti
