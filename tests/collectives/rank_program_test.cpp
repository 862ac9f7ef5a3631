// SPDX-License-Identifier: Apache-2.0
// Proves programs right and free of races, for calls of every length, without running plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/execute/program/program.hpp"
#include "collectives/schedule/compose.hpp"
#include "tests/collectives/find_race.hpp"
#include "tests/collectives/run_programs.hpp"

namespace tutti {
namespace {

using Programs = std::vector<RankProgram>;

// Registered buffers and those in mapped heaps have the same programs.
enum class Memory {
    unregistered,
    unregistered_in_place,
    registered,
    in_place,
    by_kernel,
    by_kernel_in_place,
    messages,
    messages_in_place
};
// The first ones are kinds of memory of one host.
constexpr Memory all_memory[] = {
    Memory::unregistered, Memory::unregistered_in_place,
    Memory::registered,   Memory::in_place,
    Memory::by_kernel,    Memory::by_kernel_in_place,
    Memory::messages,     Memory::messages_in_place,
};
constexpr std::span<const Memory> memory_of_one_host(all_memory, 6);

struct Case {
    const Algorithm* algorithm;
    int ranks;
    Memory memory = Memory::registered;
    int root = 0;
    int pieces = 1;  // pieces per chunk, in turn, which reuse places
    int radix = 0;
    int ranks_of_host = 0;         // 0: all; ranks of different hosts exchange messages
    int parts = 1;                 // parts of each chunk, in the same step
    std::int64_t elements = 4096;  // in each block (16 KiB)
};

bool is_in_place(const Case& tried) {
    return tried.memory == Memory::unregistered_in_place || tried.memory == Memory::in_place ||
           tried.memory == Memory::by_kernel_in_place || tried.memory == Memory::messages_in_place;
}

std::string to_text(const Case& tried) {
    const char* memories[] = {
        "unregistered", "unregistered in place", "registered", "registered in place",
        "kernel",       "kernel in place",       "messages",   "messages in place"};
    return std::string(name_of(tried.algorithm->collective)) + " " +
           std::string(tried.algorithm->name) + ", " + std::to_string(tried.ranks) +
           " ranks, root " + std::to_string(tried.root) + ", " + std::to_string(tried.pieces) +
           " pieces, " + std::to_string(tried.parts) + " parts, " + at(memories, tried.memory) +
           (tried.ranks_of_host == 0 ? ""
                                     : ", " + std::to_string(tried.ranks_of_host) + " to a host");
}

std::optional<Schedule> schedule_of(const Case& tried) {
    const Job job{.collective = tried.algorithm->collective,
                  .ranks = tried.ranks,
                  .root = Rank{tried.root},
                  .segments = 3,
                  .configuration = {.radix = tried.radix},
                  .placement = Placement::in_nodes_of(tried.ranks, 2)};
    if (tried.algorithm->refuses(job)) return std::nullopt;
    return pipelined(tried.algorithm->build(job), tried.pieces).finer(tried.parts);
}

TransferMethod method_of(Memory memory) {
    switch (memory) {
        case Memory::unregistered:
        case Memory::unregistered_in_place:
            return TransferMethod::copy_in_copy_out;
        case Memory::registered:
        case Memory::in_place:
            return TransferMethod::registered;
        case Memory::by_kernel:
        case Memory::by_kernel_in_place:
            return TransferMethod::single_copy;
        case Memory::messages:
        case Memory::messages_in_place:
            break;
    }
    return TransferMethod::messages;
}

PlanRequest request_of(const Case& tried, const Schedule& schedule) {
    PlanRequest request{.schedule = schedule,
                        .call = {.collective = tried.algorithm->collective,
                                 .root = Rank{tried.root},
                                 .count = tried.elements},
                        .buffers = {.input = {}, .output = {}, .in_place = is_in_place(tried)},
                        .method = method_of(tried.memory)};
    if (tried.ranks_of_host > 0)
        for (int rank = 0; rank < tried.ranks; ++rank)
            request.hosts.push_back(rank / tried.ranks_of_host);
    return request;
}

// Returns the programs of all ranks.
Programs programs_of(const Case& tried, const Schedule& schedule) {
    const PlanRequest request = request_of(tried, schedule);
    Programs programs;
    for (Rank rank : all_ranks(tried.ranks))
        programs.push_back(std::move(compile(request, rank).front()));
    return programs;
}

void expect_no_race(const Case& tried) {
    const auto schedule = schedule_of(tried);
    if (!schedule) return;
    EXPECT_EQ(find_race(programs_of(tried, *schedule)), std::nullopt) << to_text(tried);
}

// The results are right, and no race is possible.
void expect_right(const Case& tried) {
    const auto schedule = schedule_of(tried);
    if (!schedule) return;
    const Programs programs = programs_of(tried, *schedule);
    const CollectiveSpec spec(tried.algorithm->collective, tried.ranks, Rank{tried.root});
    for (const std::uint64_t seed : {1, 2})
        EXPECT_EQ(find_fault(programs, spec, schedule->chunks(), is_in_place(tried), seed),
                  std::nullopt)
            << to_text(tried);
    EXPECT_EQ(find_race(programs), std::nullopt) << to_text(tried);
}

TEST(RankProgram, HasNoRaceInPieces) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {2, 3, 4, 5})
            for (Memory memory :
                 {Memory::unregistered, Memory::unregistered_in_place, Memory::registered,
                  Memory::by_kernel, Memory::by_kernel_in_place})
                expect_no_race({&algorithm, ranks, memory, ranks / 2, /*pieces=*/12});
}

// The pieces reuse the same memory.
TEST(RankProgram, StagesInMemoryThatDoesNotGrowWithTheMessage) {
    for (const char* name : {"ring", "two-shot", "butterfly", "chain", "tree"}) {
        Case tried = {&find_algorithm(Collective::all_reduce, name), 4, Memory::unregistered};
        int most = 0;
        for (const int pieces : {20, 200}) {
            tried.pieces = pieces;
            int slots = 0;
            for (const RankProgram& program : programs_of(tried, schedule_of(tried).value()))
                slots = std::max(slots, program.slots);
            if (pieces == 20) most = slots;
            EXPECT_LE(slots, most) << name;
        }
        EXPECT_GT(most, 0);
    }
}

TEST(RankProgram, IsRightWhateverTheAlgorithmAndTheMemory) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {1, 2, 3, 4, 5, 7, 8})
            for (Memory memory : all_memory)
                for (int root : {0, ranks - 1}) {
                    if (root != 0 && !has_root(algorithm.collective)) continue;
                    expect_right({&algorithm, ranks, memory, root});
                }
}

// Ranks wait in a step of their own for blocks that peers store in the last step.
TEST(RankProgram, IsRightWithShortBlocksWherePeersReachTheMemory) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {2, 3, 4, 5, 8})
            for (Memory memory : {Memory::registered, Memory::in_place})
                for (int of_host : {0, 2})
                    expect_right({.algorithm = &algorithm,
                                  .ranks = ranks,
                                  .memory = memory,
                                  .root = ranks / 2,
                                  .ranks_of_host = of_host,
                                  .elements = 512});
}

TEST(RankProgram, AwaitsShortPushesInAStepOfItsOwn) {
    const auto steps_of_root = [](std::int64_t elements) {
        const Case gather{.algorithm = &find_algorithm(Collective::gather, "linear"),
                          .ranks = 2,
                          .elements = elements};
        return programs_of(gather, schedule_of(gather).value())[0].steps.size();
    };
    EXPECT_EQ(steps_of_root(512), 2U);
    EXPECT_EQ(steps_of_root(513), 1U);
}

// Ranks share the parts of a chunk.
TEST(RankProgram, IsRightInPartsThroughTheKernel) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {2, 3, 4, 5})
            for (Memory memory : {Memory::by_kernel, Memory::by_kernel_in_place})
                for (int parts : {2, 3})
                    expect_right({.algorithm = &algorithm,
                                  .ranks = ranks,
                                  .memory = memory,
                                  .root = ranks / 2,
                                  .parts = parts});
}

// Ranks of one host reach each other's memory, others exchange messages, in the same step.
TEST(RankProgram, IsRightWithMessagesBetweenHosts) {
    for (const Algorithm& algorithm : catalog())
        for (const auto& [ranks, of_host] : {std::pair{4, 2}, {5, 3}, {8, 4}, {8, 2}, {7, 3}})
            for (const Memory memory : memory_of_one_host)
                for (int pieces : {1, 3})
                    expect_right({.algorithm = &algorithm,
                                  .ranks = ranks,
                                  .memory = memory,
                                  .root = ranks / 2,
                                  .pieces = pieces,
                                  .ranks_of_host = of_host});
}

// Each rank computes what its peers publish: no rank asks another one.
TEST(RankProgram, ReadsWhatThePeersOwnProgramPublishes) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {2, 3, 5})
            for (Memory memory : all_memory) {
                const Case tried{&algorithm, ranks, memory, ranks / 2, /*pieces=*/3};
                const auto schedule = schedule_of(tried);
                if (!schedule) continue;
                const Programs programs = programs_of(tried, *schedule);
                for (Rank me : all_ranks(ranks)) {
                    std::vector<std::vector<ChunkPlace>> read(as_size(ranks));
                    for (const ProgramStep& step : at(programs, me).steps)
                        for (const ChunkMove& move : step.moves)
                            for (const MovePlace& source : move.sources)
                                if (source.peer) at(read, *source.peer).push_back(source.place);
                    for (Rank peer : all_ranks(ranks)) {
                        auto published = at(at(programs, peer).published, me);
                        std::ranges::sort(published);
                        std::ranges::sort(at(read, peer));
                        EXPECT_EQ(at(read, peer), published) << to_text(tried);
                    }
                }
            }
}

// With a radix, a sum has parts of several peers in one step, some of them in the peers' plan
// memory.
TEST(RankProgram, HasNoRaceWithARadix) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {5, 10})
            for (int radix : {3, 4})
                for (Memory memory : all_memory) {
                    if (!algorithm.takes_radix) continue;
                    Case tried{&algorithm, ranks, memory};
                    tried.radix = radix;
                    expect_no_race(tried);
                }
}

// Counts moves that access a peer's buffers before the rank has waited for the peer in the same
// run: their location is looked up in the first wait for it.
int moves_without_a_wait(const RankProgram& program) {
    std::set<Rank> waited_for;
    const auto is_unseen = [&](const MovePlace& place) {
        return place.peer && !waited_for.contains(*place.peer);
    };
    const auto count = [&](const std::vector<ChunkMove>& moves) {
        return std::ranges::count_if(moves, [&](const ChunkMove& move) {
            return std::ranges::any_of(move.targets, is_unseen) ||
                   std::ranges::any_of(move.sources, is_unseen);
        });
    };
    auto moves = count(program.prologue);
    for (const ProgramStep& step : program.steps) {
        for (const Dependency& dependency : step.dependencies) waited_for.insert(dependency.peer);
        moves += count(step.moves);
    }
    return static_cast<int>(moves + count(program.settling_early) + count(program.settling_late));
}

// Returns the last step in which the rank accesses a place of the owner; -1 if it never does.
int last_step_at(const RankProgram& program, Rank owner) {
    int last = -1;
    for (const ProgramStep& step : program.steps)
        for (const ChunkMove& move : step.moves)
            for (const auto* ends : {&move.targets, &move.sources})
                for (const MovePlace& place : *ends)
                    if (place.peer == owner) last = step.number;
    return last;
}

// Returns the last step of the peer that the rank has waited for at the end of its run; -1 if none.
int last_step_waited_for(const RankProgram& program, Rank peer) {
    int steps = 0;
    const auto look_at = [&](const std::vector<Dependency>& dependencies) {
        for (const Dependency& one : dependencies)
            if (one.peer == peer) steps = std::max(steps, one.steps);
    };
    for (const ProgramStep& step : program.steps) look_at(step.dependencies);
    look_at(program.last_readers);
    return steps - 1;
}

// Then its peers need not wait until the last sum is computed.
TEST(RankProgram, KeepsResultsThatNoPeerReads) {
    const auto kept = [](const Case& tried, int rank) {
        const Programs programs = programs_of(tried, schedule_of(tried).value());
        std::vector<bool> of_steps;
        for (const ProgramStep& step : at(programs, Rank{rank}).steps)
            of_steps.push_back(step.keeps_results);
        return of_steps;
    };
    using Steps = std::vector<bool>;
    const Case reduce{&find_algorithm(Collective::reduce, "linear"), 2, Memory::by_kernel};
    EXPECT_EQ(kept(reduce, 0), Steps{true});
    const Case butterfly{&find_algorithm(Collective::all_reduce, "butterfly"), 4,
                         Memory::by_kernel};
    EXPECT_EQ(kept(butterfly, 0), (Steps{false, true}));
    // There a peer's write waits for the same counter.
    const Case pushed{&find_algorithm(Collective::all_reduce, "butterfly"), 4, Memory::registered};
    EXPECT_EQ(kept(pushed, 0), (Steps{false, false}));
}

// A rank copies its own part while other parts are in transit, before it reads them. But where
// peers wait for data that the rank writes to them, that comes first.
TEST(RankProgram, CopiesItsOwnPartFirstWherePeersOnlyRead) {
    Case tried{&find_algorithm(Collective::all_gather, "ring"), 4, Memory::by_kernel};
    for (const RankProgram& program : programs_of(tried, schedule_of(tried).value())) {
        const ProgramStep& first = program.steps.front();
        EXPECT_TRUE(first.dependencies.empty());
        ASSERT_EQ(first.moves.size(), 1u);
        EXPECT_EQ(first.moves[0].sources.front().peer, std::nullopt);
        EXPECT_EQ(first.moves[0].targets.front().peer, std::nullopt);
        EXPECT_TRUE(program.settling_early.empty());
    }
    tried.memory = Memory::registered;
    for (const RankProgram& program : programs_of(tried, schedule_of(tried).value()))
        EXPECT_EQ(program.settling_early.size(), 1u);
}

TEST(RankProgram, WaitsForAPeerBeforeItAccessesItsBuffers) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {2, 3, 4, 5, 7, 8})
            for (Memory memory : {Memory::registered, Memory::in_place, Memory::by_kernel,
                                  Memory::by_kernel_in_place}) {
                const Case tried{&algorithm, ranks, memory, ranks / 2};
                const auto schedule = schedule_of(tried);
                if (!schedule) continue;
                for (const RankProgram& program : programs_of(tried, *schedule))
                    EXPECT_EQ(moves_without_a_wait(program), 0) << to_text(tried);
            }
}

// Pairs of chunk and peer.
using Chunks = std::vector<std::pair<int, Rank>>;

Chunks of_peers(const RankProgram& program, std::vector<MovePlace> ChunkMove::*ends) {
    Chunks chunks;
    for (const ProgramStep& step : program.steps)
        for (const ChunkMove& move : step.moves)
            for (const MovePlace& end : move.*ends)
                if (end.peer) chunks.emplace_back(move.chunk, *end.peer);
    return chunks;
}

Chunks written_to_peers(const RankProgram& program) {
    return of_peers(program, &ChunkMove::targets);
}
Chunks read_from_peers(const RankProgram& program) {
    return of_peers(program, &ChunkMove::sources);
}

// A rank that would only wait does its share of the copies.
TEST(RankProgram, SharesTheCopiesThroughTheKernel) {
    const auto programs = [](Collective collective, std::string_view algorithm, int ranks,
                             Memory memory, int parts) {
        const Case tried{.algorithm = &find_algorithm(collective, algorithm),
                         .ranks = ranks,
                         .memory = memory,
                         .parts = parts};
        return programs_of(tried, *schedule_of(tried));
    };
    using enum Collective;
    for (const int parts : {2, 4, 5}) {
        const Programs half = programs(broadcast, "linear", 2, Memory::by_kernel_in_place, parts);
        EXPECT_EQ(written_to_peers(half[0]).size(), as_size(parts) / 2);
        EXPECT_EQ(read_from_peers(half[1]).size(), as_size(parts + 1) / 2);
        EXPECT_EQ(find_race(half), std::nullopt);
    }
    // The root has its own copy to do.
    EXPECT_TRUE(
        written_to_peers(programs(broadcast, "linear", 2, Memory::by_kernel, 2)[0]).empty());
    EXPECT_TRUE(written_to_peers(programs(scatter, "linear", 2, Memory::by_kernel, 1)[0]).empty());
    const Programs gathered = programs(gather, "linear", 4, Memory::by_kernel, 1);
    EXPECT_TRUE(read_from_peers(gathered[0]).empty());
    for (const int rank : {1, 2, 3})
        EXPECT_EQ(written_to_peers(gathered[as_size(rank)]), (Chunks{{rank, Rank{0}}}));
}

// Each rank writes what fits in the caches, and reads longer blocks.
TEST(RankProgram, PushesShortBlocksOfAnExchangeThroughTheKernel) {
    const auto pushes = [](std::int64_t block, int ranks, Memory memory = Memory::by_kernel) {
        const Case tried{&find_algorithm(Collective::all_to_all, "linear"), ranks, memory};
        const Schedule schedule = *schedule_of(tried);
        PlanRequest request = request_of(tried, schedule);
        request.call.type = DataType::int8;
        request.call.count = block;
        Programs programs;
        for (const Rank rank : all_ranks(ranks))
            programs.push_back(std::move(compile(request, rank).front()));
        EXPECT_EQ(find_race(programs), std::nullopt);
        return written_to_peers(programs[0]).size();
    };
    EXPECT_EQ(pushes(2 << 20, 2), 1U);
    EXPECT_EQ(pushes((2 << 20) + 1, 2), 0U);
    EXPECT_EQ(pushes(512 << 10, 4), 3U);
    EXPECT_EQ(pushes(1 << 20, 4), 0U);
    EXPECT_EQ(pushes(4096, 2, Memory::by_kernel_in_place), 0U);  // peers read the copies
}

// Once a rank has accessed a peer's buffers for the last time, that peer waits for it before the
// end of its run, because then it may change them. It does the same for its last reader, and for
// ranks that push.
TEST(RankProgram, EndsAfterAllReadersOfItsBuffers) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {2, 3, 5, 8})
            for (Memory memory : {Memory::registered, Memory::by_kernel}) {
                const Case tried{&algorithm, ranks, memory, ranks / 2};
                const auto schedule = schedule_of(tried);
                if (!schedule) continue;
                const Programs programs = programs_of(tried, *schedule);
                for (Rank me : all_ranks(ranks))
                    for (Rank owner : all_ranks(ranks))
                        EXPECT_LE(last_step_at(at(programs, me), owner),
                                  last_step_waited_for(at(programs, owner), me))
                            << to_text(tried);
            }
}

Case all_reduce_by(std::string_view name, int ranks, Memory memory = Memory::registered) {
    return {&find_algorithm(Collective::all_reduce, name), ranks, memory};
}

// Removes each dependency in turn; returns how many can be removed without a race.
int dispensable_dependencies(const Case& tried) {
    Programs programs = programs_of(tried, schedule_of(tried).value());
    int to_spare = 0;
    const auto take_out_each = [&](std::vector<Dependency>& dependencies) {
        for (std::size_t i = 0; i < dependencies.size(); ++i) {
            const auto place = dependencies.begin() + static_cast<long>(i);
            const Dependency taken = *place;
            dependencies.erase(place);
            if (!find_race(programs)) ++to_spare;
            dependencies.insert(place, taken);
        }
    };
    for (RankProgram& program : programs) {
        for (ProgramStep& step : program.steps) {
            take_out_each(step.before_messages);
            take_out_each(step.dependencies);
        }
        take_out_each(program.last_readers);
    }
    return to_spare;
}

TEST(FindRace, MissesEveryDependencyThatIsTakenOut) {
    for (const char* name :
         {"tree", "butterfly", "halving-doubling", "circulant", "linear", "one-shot", "two-shot"})
        for (Memory memory : {Memory::unregistered, Memory::unregistered_in_place,
                              Memory::registered, Memory::in_place})
            EXPECT_EQ(dispensable_dependencies(all_reduce_by(name, 4, memory)), 0) << name;
}

// Data that return to a rank of the ring have passed through the next rank, which must have read
// that chunk before: so the dependency on this reader follows from the others, and so does the one
// that the next rank has begun when the result is pushed there. Each rank prunes its own
// dependencies, so these stay; each costs one read of a counter that was reached long ago.
TEST(FindRace, KnowsThatTheRingWaitsForReadersInAnyCase) {
    for (int ranks : {4, 5, 8}) {
        EXPECT_EQ(dispensable_dependencies(all_reduce_by("ring", ranks)), ranks * (ranks - 1));
        EXPECT_EQ(dispensable_dependencies(all_reduce_by("ring", ranks, Memory::in_place)),
                  ranks * (ranks - 1));
    }
}

Programs all_reduce_programs(std::string_view name, int ranks) {
    const Case tried = all_reduce_by(name, ranks);
    return programs_of(tried, schedule_of(tried).value());
}

TEST(FindRace, NamesAReadThatIsTooEarly) {
    Programs programs = all_reduce_programs("butterfly", 2);
    programs[1].steps[0].dependencies.clear();
    EXPECT_TRUE(is_race(find_race(programs), {"1 at step 0", "reads input's position 0",
                                              "too early", "0 at its begin"}));
    programs = all_reduce_programs("butterfly", 4);
    programs[1].steps[1].dependencies.clear();
    EXPECT_TRUE(is_race(find_race(programs),
                        {"1 at step 1", "reads output's position 0", "too early", "3 at step 0"}));
}

TEST(FindRace, NamesAReadOfWhatARankKeeps) {
    const Case tried = all_reduce_by("butterfly", 4, Memory::by_kernel);
    Programs programs = programs_of(tried, schedule_of(tried).value());
    ASSERT_EQ(find_race(programs), std::nullopt);
    programs[3].steps[0].keeps_results = true;
    EXPECT_TRUE(is_race(find_race(programs),
                        {"1 at step 1", "reads output's position 0", "too early", "3 at step 0"}));
}

TEST(FindRace, NamesAWriteThatAPeerMayStillRead) {
    Programs programs = all_reduce_programs("one-shot", 2);
    programs[0].last_readers.clear();
    EXPECT_TRUE(is_race(find_race(programs),
                        {"0 at its end", "overwrite input's position 0", "1 at step 0"}));
    // The result of the first step goes to the place that the partner reads in that step.
    programs = all_reduce_programs("butterfly", 4);
    programs[0].steps[0].moves[0].targets[0].place = programs[0].published[1][0];
    EXPECT_TRUE(is_race(find_race(programs),
                        {"0 at step 0", "overwrite input's position 0", "1 at step 0"}));
}

// Rank 1 has no other work and writes its block into the root's result.
TEST(FindRace, NamesAPushIntoAPlaceThatIsInUse) {
    const Case gather{&find_algorithm(Collective::gather, "linear"), 2};
    const Programs sound = programs_of(gather, schedule_of(gather).value());
    ASSERT_EQ(find_race(sound), std::nullopt);
    ASSERT_EQ(sound[1].steps.at(0).moves.at(0).targets.at(0).peer, Rank{0});

    Programs programs = sound;
    programs[1].steps[0].dependencies.clear();
    EXPECT_TRUE(
        is_race(find_race(programs), {"1 at step 0", "output's position 1", "not have begun"}));
    programs = sound;
    programs[0].last_readers.clear();
    EXPECT_TRUE(is_race(find_race(programs),
                        {"1 at step 0", "output's position 1", "past that", "0 at its end"}));
    programs = sound;
    programs[1].steps[0].keeps_results = true;
    EXPECT_TRUE(
        is_race(find_race(programs), {"1 at step 0", "output's position 1", "0 at its end"}));
    // Two ranks compute a chunk each and push it; the other still reads there.
    programs = all_reduce_programs("two-shot", 2);
    ASSERT_EQ(find_race(programs), std::nullopt);
    programs[1].steps[0].moves[0].sources[1].place = programs[0].steps[0].moves[0].targets[1].place;
    EXPECT_TRUE(is_race(find_race(programs),
                        {"0 at step 0", "output's position 0", "uses at", "1 at step 0"}));
}

TEST(FindRace, NamesAWaitThatNothingEnds) {
    Programs programs = all_reduce_programs("butterfly", 2);
    programs[0].steps[0].dependencies[0].steps = 1;
    programs[1].steps[0].dependencies[0].steps = 1;
    EXPECT_TRUE(is_race(find_race(programs), {"0 at step 0", "for ever"}));
}

}  // namespace
}  // namespace tutti
