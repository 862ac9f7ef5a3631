// SPDX-License-Identifier: Apache-2.0
// Programs for direct execution, proved free of races without being run.
#include "collectives/execute/direct_program.hpp"

#include <gtest/gtest.h>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/execute/find_race.hpp"

namespace tutti {
namespace {

using Programs = std::vector<DirectProgram>;

enum class Memory { ordinary, registered, in_place };

struct Case {
    const Algorithm* algorithm;
    int ranks;
    Memory memory = Memory::ordinary;
    int root = 0;
    std::int64_t count = 64;
};

std::string to_text(const Case& tried) {
    const char* memories[] = {"ordinary", "registered", "in place"};
    return std::string(name_of(tried.algorithm->collective)) + " " +
           std::string(tried.algorithm->name) + ", " + std::to_string(tried.ranks) +
           " ranks, root " + std::to_string(tried.root) + ", " + std::to_string(tried.count) +
           " elements, " + memories[static_cast<std::size_t>(tried.memory)];
}

std::optional<Schedule> schedule_of(const Case& tried) {
    const Job job{.collective = tried.algorithm->collective,
                  .ranks = tried.ranks,
                  .root = Rank{tried.root},
                  .segments = 3,
                  .placement = Placement::in_nodes_of(tried.ranks, 2)};
    if (tried.algorithm->refuses(job)) return std::nullopt;
    return tried.algorithm->build(job);
}

Programs programs_of(const Case& tried, const Schedule& schedule) {
    const Call call{tried.algorithm->collective, DataType::float32, Op::sum, Rank{tried.root},
                    tried.count};
    Programs programs;
    for (Rank rank : all_ranks(tried.ranks)) {
        std::vector<std::byte> input(input_bytes(call, tried.ranks, rank));
        std::vector<std::byte> output(output_bytes(call, tried.ranks, rank));
        const PlanRequest request{schedule, call, input, output, "", 0, nullptr};
        const auto at = [](std::size_t offset) { return Place{Place::In::registered, offset}; };
        const InPlace both = in_place_offsets(call, tried.ranks, rank);
        switch (tried.memory) {
            case Memory::ordinary:
                programs.push_back(compile_direct(request, rank, std::nullopt, std::nullopt));
                break;
            case Memory::registered:
                programs.push_back(compile_direct(request, rank, at(0), at(input.size())));
                break;
            case Memory::in_place:
                programs.push_back(compile_direct(request, rank, at(both.input), at(both.output)));
                break;
        }
    }
    return programs;
}

void expect_no_race(const Case& tried) {
    const auto schedule = schedule_of(tried);
    if (!schedule) return;
    EXPECT_EQ(find_race(programs_of(tried, *schedule)), std::nullopt) << to_text(tried);
}

TEST(DirectProgram, HasNoRaceWhateverTheAlgorithmAndTheMemory) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {1, 2, 3, 4, 5, 7, 8})
            for (Memory memory : {Memory::ordinary, Memory::registered, Memory::in_place})
                for (int root : {0, ranks - 1})
                    for (int count : {1, ranks - 1, 64}) {
                        if (root != 0 && !has_root(algorithm.collective)) continue;
                        expect_no_race({&algorithm, ranks, memory, root, count});
                    }
}

Case all_reduce_by(std::string_view name, int ranks, Memory memory = Memory::ordinary) {
    return {&find_algorithm(Collective::all_reduce, name), ranks, memory};
}

// Takes out every need in turn; returns how many nobody misses.
int needs_to_spare(const Case& tried) {
    Programs programs = programs_of(tried, schedule_of(tried).value());
    int to_spare = 0;
    const auto take_out_each = [&](std::vector<Need>& needs) {
        for (std::size_t i = 0; i < needs.size(); ++i) {
            const auto place = needs.begin() + static_cast<long>(i);
            const Need taken = *place;
            needs.erase(place);
            if (!find_race(programs)) ++to_spare;
            needs.insert(place, taken);
        }
    };
    for (DirectProgram& program : programs) {
        for (DirectStep& step : program.steps) take_out_each(step.needs);
        take_out_each(program.last_readers);
    }
    return to_spare;
}

TEST(FindRace, MissesEveryNeedThatIsTakenOut) {
    for (const char* name : {"tree", "butterfly", "halving-doubling", "circulant", "linear",
                             "one-shot", "two-shot", "two-level"})
        for (Memory memory : {Memory::ordinary, Memory::registered, Memory::in_place})
            EXPECT_EQ(needs_to_spare(all_reduce_by(name, 4, memory)), 0) << name;
}

// What comes back to a rank of the ring has passed through the next rank, which must have read that
// chunk before: the need to wait for this reader follows from the others. Needs are pruned by each
// rank alone, so it stays; it costs one look at a counter that has long been there.
TEST(FindRace, KnowsThatTheRingWaitsForReadersInAnyCase) {
    for (int ranks : {3, 4, 5, 8}) {
        EXPECT_EQ(needs_to_spare(all_reduce_by("ring", ranks)), ranks * (ranks - 2));
        EXPECT_EQ(needs_to_spare(all_reduce_by("ring", ranks, Memory::in_place)),
                  ranks * (ranks - 1));
    }
}

Programs all_reduce_programs(std::string_view name, int ranks) {
    const Case tried = all_reduce_by(name, ranks);
    return programs_of(tried, schedule_of(tried).value());
}

// 64 floats: the image of the input is the first 256 bytes of the plan's memory, of the output the
// next 256.
TEST(FindRace, NamesAReadThatIsTooEarly) {
    Programs programs = all_reduce_programs("butterfly", 2);
    programs[1].steps[0].needs.clear();
    EXPECT_EQ(
        find_race(programs),
        "rank 1 at step 0 reads bytes 0..255 of the plan memory of rank 0 and may be too early: "
        "rank 0 at its begin may still write there");
    programs = all_reduce_programs("butterfly", 4);
    programs[1].steps[1].needs.clear();
    EXPECT_EQ(find_race(programs),
              "rank 1 at step 1 reads bytes 256..511 of the plan memory of rank 3 and may be too "
              "early: rank 3 at step 0 may still write there");
}

TEST(FindRace, NamesAWriteThatAPeerMayStillRead) {
    Programs programs = all_reduce_programs("two-shot", 2);
    programs[0].last_readers.clear();
    EXPECT_EQ(
        find_race(programs),
        "rank 0 at its end may overwrite bytes 256..383 of the plan memory, which rank 1 at step "
        "1 may still read");
    // The result of the first step in the place that the partner reads in that step.
    programs = all_reduce_programs("butterfly", 4);
    programs[0].steps[0].moves[0].out = programs[0].shown[1][0];
    EXPECT_EQ(
        find_race(programs),
        "rank 0 at step 0 may overwrite bytes 0..255 of the plan memory, which rank 1 at step 0 "
        "may still read");
}

TEST(FindRace, NamesAWaitThatNothingEnds) {
    Programs programs = all_reduce_programs("butterfly", 2);
    programs[0].steps[0].needs[0].steps = 1;
    programs[1].steps[0].needs[0].steps = 1;
    EXPECT_EQ(find_race(programs),
              "rank 0 at step 0 waits for ever for rank 1 to finish the steps before 1");
}

}  // namespace
}  // namespace tutti
