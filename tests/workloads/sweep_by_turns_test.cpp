// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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
        if (world_.is_first()) seen_.push_back(mapped_files());
        world_.barrier();
        return Turn::go_on;
    }
    Turn block(std::int64_t median_ns) override {
        EXPECT_GT(median_ns, 0);
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

private:
    World& world_;
    int blocks_, memories_;
    Turn between_;
    int blocks_done_ = 0, memories_done_ = 0;
    std::int64_t trials_ = 0, wrong_ = 0;
    std::vector<std::set<std::string>> seen_;  // at each warm(), on rank 0
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

TEST(SweepByTurns, MeasuresATrialAnewInOtherMemory) {
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
