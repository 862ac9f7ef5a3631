// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <string>

#include "collectives/world/world.hpp"
#include "workloads/bench/sweep.hpp"

namespace tutti {
namespace {

// The memory files that this process has mapped, by their numbers.
std::set<std::string> mapped_files() {
    std::set<std::string> numbers;
    std::ifstream maps("/proc/self/maps");
    std::string addresses, permissions, offset, device, number, rest;
    while (maps >> addresses >> permissions >> offset >> device >> number &&
           std::getline(maps, rest))
        if (permissions.back() == 's' && number != "0") numbers.insert(number);
    return numbers;
}

// The other job's side: a number of blocks in each memory. All ranks get the same answers.
class ScriptedTurns final : public Turns {
public:
    ScriptedTurns(World& world, int blocks, int memories, Turn between = Turn::renew)
        : world_(world), blocks_(blocks), memories_(memories), between_(between) {}

    Turn ready(std::int64_t trial, const Key&) override {
        EXPECT_EQ(trial, trials_++);
        blocks_done_ = 0;
        memories_done_ = 0;
        return Turn::go_on;
    }
    Turn warm() override {
        world_.barrier();
        if (world_.is_first()) {
            const char here = 0;
            stacks_.push_back(reinterpret_cast<std::uintptr_t>(&here));
            seen_.push_back(mapped_files());
        }
        world_.barrier();
        return Turn::go_on;
    }
    Turn block(const BlockTime& time) override {
        EXPECT_GT(time.median_ns, 0);
        EXPECT_GT(time.midmean_ns, 0);
        if (++blocks_done_ < blocks_) return Turn::go_on;
        if (++memories_done_ == memories_) return Turn::stop;
        blocks_done_ = 0;
        return between_;
    }
    Turn steps(const std::vector<std::int64_t>&) override { return Turn::stop; }
    void ended(std::int64_t n_wrong) override { wrong_ += n_wrong; }
    void skipped(std::int64_t, const Key&, const std::string& reason) override {
        ADD_FAILURE() << reason;
    }

    std::int64_t trials() const { return trials_; }
    std::int64_t wrong() const { return wrong_; }
    const std::vector<std::set<std::string>>& seen() const { return seen_; }
    const std::vector<std::uintptr_t>& stacks() const { return stacks_; }

private:
    World& world_;
    int blocks_, memories_;
    Turn between_;
    int blocks_done_ = 0, memories_done_ = 0;
    std::int64_t trials_ = 0, wrong_ = 0;
    std::vector<std::set<std::string>> seen_;  // at each warm(), on rank 0
    std::vector<std::uintptr_t> stacks_;       // the same
};

Sweep ring_and_tree(const char* transport) {
    Sweep sweep;
    sweep.collective = Collective::all_reduce;
    sweep.candidates =
        candidates(Collective::all_reduce,
                   {.algorithms = {"ring", "tree"}, .transports = {transport}, .baselines = {}});
    sweep.counts = {1000};
    sweep.in_place = {false};
    sweep.protocol.sync = Protocol::Sync::barrier;  // no call can be late
    return sweep;
}

TEST(SweepByTurns, RepeatsATrialInOtherMemory) {
    const Sweep sweep = ring_and_tree("shm");
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world);
        ScriptedTurns turns(world, 2, 3);
        run_sweep_by_turns(planner, sweep, turns);
        EXPECT_EQ(turns.trials(), 2);
        EXPECT_EQ(turns.wrong(), 0);
        if (!world.is_first()) return;
        ASSERT_EQ(turns.seen().size(), 6U);
        for (const std::size_t again : {1, 2, 4, 5})  // 0 and 3 begin a trial
            EXPECT_NE(turns.seen()[again], turns.seen()[again - 1]) << again;
    });
}

// Offsets within a page, which place 0 does not have; the same on all ranks.
TEST(SweepByTurns, BuffersAndStackMoveWithinTheirPages) {
    constexpr std::size_t page = 4096, line = 64;
    for (const bool in_place : {false, true})
        for (const BufferKind kind : {BufferKind::registered, BufferKind::unregistered}) {
            Sweep sweep = ring_and_tree("shm");
            sweep.in_place = {in_place};
            sweep.buffers = {kind};
            const Candidate ring = sweep.candidates.front();
            std::vector<std::size_t> offsets[2];
            run_as_threads(2, 60, [&](World& world) {
                Planner planner(world);
                Sweep own = sweep;
                own.candidates = {{.configuration = {.algorithm = "watched"}}};
                own.candidates[0].chooser = [&](const Call& call, const PooledBuffers& buffers) {
                    const auto place_of = [&](const std::byte* at) {
                        return reinterpret_cast<std::uintptr_t>(at) % page;
                    };
                    auto& seen = offsets[world.rank().index];
                    seen.push_back(place_of(buffers.call.input.data()));
                    seen.push_back(place_of(buffers.call.output.data()));
                    return ChosenOperation{make_operation(planner, ring.configuration,
                                                          {call, buffers.call, buffers.registered},
                                                          own.environment)};
                };
                ScriptedTurns turns(world, 1, 5);
                run_sweep_by_turns(planner, own, turns);
                EXPECT_EQ(turns.wrong(), 0);
                if (!world.is_first()) return;
                const std::set<std::uintptr_t> stacks(turns.stacks().begin(), turns.stacks().end());
                EXPECT_EQ(stacks.size(), 5U);
            });
            EXPECT_EQ(offsets[0], offsets[1]);
            ASSERT_EQ(offsets[0].size(), 10U);
            std::set<std::size_t> inputs, distances;
            for (std::size_t i = 0; i < offsets[0].size(); i += 2) {
                const std::size_t input = offsets[0][i], output = offsets[0][i + 1];
                EXPECT_EQ(input % line + output % line, 0U);
                inputs.insert(input);
                distances.insert((output + page - input) % page);
            }
            EXPECT_EQ(offsets[0][0] + offsets[0][1], 0U);
            EXPECT_EQ(inputs.size(), 5U);
            EXPECT_EQ(distances.size(), in_place ? 1U : 5U);
        }
}

TEST(SweepByTurns, StartsAgainAtBarriers) {
    Sweep sweep = ring_and_tree("shm");
    sweep.candidates.resize(1);
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world);
        ScriptedTurns turns(world, 2, 2, Turn::start_at_barriers);
        run_sweep_by_turns(planner, sweep, turns);
        EXPECT_EQ(turns.wrong(), 0);
        EXPECT_EQ(turns.seen().size(), world.is_first() ? 2U : 0U);
    });
}

TEST(SweepByTurns, CountsWrongResultsInEveryMemory) {
    Sweep sweep = ring_and_tree("loopback");
    sweep.candidates.resize(1);
    std::int64_t wrong_of[2] = {};
    for (const int memories : {1, 2})
        run_as_threads(2, 60, [&](World& world) {
            Planner planner(world, parse_fault("corrupt"));
            ScriptedTurns turns(world, 1, memories);
            run_sweep_by_turns(planner, sweep, turns);
            if (world.is_first()) wrong_of[memories - 1] = turns.wrong();
        });
    EXPECT_GT(wrong_of[0], 0);
    EXPECT_EQ(wrong_of[1], 2 * wrong_of[0]);
}

}  // namespace
}  // namespace tutti
