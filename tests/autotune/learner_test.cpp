// SPDX-License-Identifier: Apache-2.0
// A communicator's searches in a program whose calls are seldom alike: times are made up.
#include "library/learner.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/index.hpp"

namespace tutti {
namespace {

constexpr double bound = 0.05;
constexpr double making_ns = 100'000;

Configuration named(const char* algorithm) { return {.algorithm = algorithm, .transport = "shm"}; }

// The arms take these ns for a call at the octave's lower end, and more for longer ones.
class LearningProgram {
public:
    explicit LearningProgram(double ns_per_byte) : ns_per_byte_(ns_per_byte) {}

    // A call as a communicator makes it that has the plan of the incumbent.
    void call_known(const CallKey& key) {
        Learner::Point* known = learner_.find(key);
        if (known == nullptr) return call(key);
        const int arm = known->search.incumbent();
        const Learner::CallShape shape = learner_.shape_of(key);
        const Learner::Needs needs = Learner::needs_of(*known, arm, shape);
        if (needs == Learner::Needs::search) return call(key);
        const double time = time_of(arm, key);
        spent_ += time;
        lost_ += time - time_of(0, key);
        if (needs == Learner::Needs::time)
            learner_.record(*known, shape, time, 0);
        else
            ++untimed_;
    }

    void call(const CallKey& key) {
        Learner::Point* known = learner_.find(key);
        Learner::Point& point = known != nullptr ? *known : learner_.begin(key, named("default"));
        const int arm = learner_.arm_for(point, key);
        CallKey by_arm = key;
        by_arm.arm = static_cast<std::int16_t>(arm);
        const double making = plans_.insert(text_of(by_arm)).second ? making_ns : 0;
        const double fallback = time_of(0, key), time = time_of(arm, key);
        spent_ += time + making;
        lost_ += time - fallback + (arm != point.search.incumbent() ? making : 0);
        learner_.record(point, learner_.shape_of(key), time, making);
    }

    std::string choice_for(const CallKey& key) {
        const Learner::Point* point = learner_.find(key);
        return at(point->arms, point->search.incumbent()).algorithm;
    }
    std::vector<Section> learnt() const { return learner_.learnt({}); }
    double regret() const { return lost_ / spent_; }
    int untimed() const { return untimed_; }

private:
    static std::string text_of(const CallKey& key) {
        return std::to_string(key.call.count) + " " + std::to_string(key.input.offset) + " " +
               std::to_string(key.arm) + (key.in_place ? " in place" : "") +
               (key.has_lengths ? " of lengths" : "");
    }

    double time_of(int arm, const CallKey& key) {
        const double bytes = static_cast<double>(key.call.count) * 4;
        const double noise = std::exp(std::normal_distribution<double>(0, 0.05)(dice_));
        return at(key.has_lengths ? times_with_lengths_ : times_, arm) *
               (1 + bytes * ns_per_byte_ / 1000) * noise;
    }

    std::unique_ptr<World> world_ = world_of_one();
    Learner learner_{*world_,
                     {.arms =
                          [](Collective) {
                              return std::vector{named("default"), named("fast"), named("slow")};
                          },
                      .bound = bound}};
    std::vector<double> times_{20'000, 12'000, 60'000};
    std::vector<double> times_with_lengths_{20'000, 60'000, 12'000};
    double ns_per_byte_, spent_ = 0, lost_ = 0;
    int untimed_ = 0;
    std::set<std::string> plans_;
    std::mt19937 dice_{4};
};

CallKey call_of(std::int64_t count, std::size_t place) {
    CallKey key{.call = {.collective = Collective::all_reduce, .count = count}};
    key.input = {.arena = 0, .offset = 64 * place};
    return key;
}

// Makes a call by the incumbent and returns true if it need not be timed.
bool run_if_untimed(Learner::Point& point) {
    return Learner::needs_of(point, point.search.incumbent(), point.shape) ==
           Learner::Needs::nothing;
}

TEST(Learner, LearnsWhereManyBuffersAndLengthsOfAnOctaveAlternate) {
    for (const double ns_per_byte : {0.0, 1.0}) {
        LearningProgram program(ns_per_byte);
        for (int i = 0; i < 300'000; ++i) program.call(call_of(256 + 12 * (i % 21), i % 100));
        EXPECT_EQ(program.choice_for(call_of(256, 0)), "fast");
        EXPECT_LE(program.regret(), bound);
    }
}

TEST(Learner, LearnsWhereNoBufferComesTwice) {
    LearningProgram program(1);
    std::mt19937 dice(1);
    for (std::size_t i = 0; i < 100'000; ++i)
        program.call(call_of(256 + static_cast<std::int64_t>(dice() % 256), i));
    EXPECT_EQ(program.choice_for(call_of(256, 0)), "fast");
    EXPECT_LE(program.regret(), bound);
}

TEST(Learner, LearnsWhereFewCallsAreTimed) {
    LearningProgram program(1);
    std::mt19937 dice(1);
    for (int i = 0; i < 100'000; ++i)
        program.call_known(call_of(256 + static_cast<std::int64_t>(dice() % 256), 0));
    EXPECT_EQ(program.choice_for(call_of(256, 0)), "fast");
    EXPECT_LE(program.regret(), bound);
    EXPECT_GT(program.untimed(), 60'000);
}

// To time such a call takes about as long as the call, which is lost.
TEST(Learner, SeldomTimesShortCalls) {
    const std::unique_ptr<World> world = world_of_one();
    Learner learner(
        *world, {.arms = [](Collective) { return std::vector<Configuration>{}; }, .bound = bound});
    Learner::Point& point = learner.begin(call_of(2, 0), named("default"));
    constexpr double call_ns = 50;
    learner.record(point, point.shape, call_ns, 0);
    const double cost_ns = point.lost_ns;  // the cost of timing a call
    EXPECT_GT(cost_ns, 0);
    for (int call = 0; call < 100'000; ++call)
        if (!run_if_untimed(point)) learner.record(point, point.shape, call_ns, 0);
    const auto of_sample = static_cast<double>(point.search.calls_of_sample());
    EXPECT_LE(of_sample * cost_ns / static_cast<double>(point.between_samples),
              bound / 4 * call_ns);
}

// A table has only the result for equal lengths.
TEST(Learner, SearchesByItselfForBlocksOfDifferentLengths) {
    LearningProgram program(0);
    CallKey equal = call_of(256, 0), different = equal;
    different.has_lengths = true;
    for (int i = 0; i < 100'000; ++i) program.call(i % 2 == 0 ? equal : different);
    EXPECT_EQ(program.choice_for(equal), "fast");
    EXPECT_EQ(program.choice_for(different), "slow");
    EXPECT_LE(program.regret(), bound);
    const auto sections = program.learnt();
    ASSERT_EQ(sections.size(), 1U);
    ASSERT_EQ(sections.front().ranges.size(), 1U);
    EXPECT_EQ(sections.front().ranges.front().choice.algorithm, "fast");
}

// Where ranks run ahead of each other, most calls of an arm take no time, and one in many waits.
TEST(Learner, JudgesShortCallsByBlocks) {
    const auto choice_if_one_waits = [](double waiting_ns) {
        const std::unique_ptr<World> world = world_of_one();
        Learner learner(*world, {.arms = [](Collective) { return std::vector{named("ahead")}; }});
        const CallKey key = call_of(2, 0);
        Learner::Point& point = learner.begin(key, named("even"));
        for (int call = 0; call < 300'000; ++call) {
            if (run_if_untimed(point)) continue;
            const bool is_ahead = learner.arm_for(point, key) == 1;
            const double of_ahead = call % 8 == 0 ? waiting_ns : 100;
            learner.record(point, point.shape, is_ahead ? of_ahead : 1000, 0);
        }
        return at(point.arms, point.search.incumbent()).algorithm;
    };
    EXPECT_EQ(choice_if_one_waits(15'000), "even");
    EXPECT_EQ(choice_if_one_waits(2'000), "ahead");
}

// Long calls have earned more than a plan costs. Short calls must not use that up before they have
// earned it by themselves.
TEST(Learner, LetsShortCallsPayByTheirOwnTime) {
    const std::unique_ptr<World> world = world_of_one();
    Learner learner(*world, {.arms = [](Collective) { return std::vector{named("other")}; }});
    constexpr double making = 1e6, long_ns = 1e6, short_ns = 1000;
    const auto call = [&](const CallKey& key, double ns) {
        Learner::Point* known = learner.find(key);
        Learner::Point& point = known != nullptr ? *known : learner.begin(key, named("default"));
        const bool is_other = learner.arm_for(point, key) == 1;
        learner.record(point, point.shape, ns, known == nullptr ? making : 0);
        return is_other;
    };
    const auto begin_of_tries = [&](const CallKey& key, double ns) {
        int calls = 0;
        while (!call(key, ns) && calls < 1'000'000) ++calls;
        return calls;
    };
    EXPECT_LT(begin_of_tries(call_of(1 << 20, 0), long_ns), 3000);
    for (int i = 0; i < 3000; ++i) call(call_of(1 << 20, 0), long_ns);
    const double earned = begin_of_tries(call_of(2, 0), short_ns) * short_ns * bound;
    EXPECT_GT(earned, making / 4);
    EXPECT_LT(earned, making * 10);
}

// Ranks begin the first call after an exchange of times at different times.
TEST(Learner, LeavesOutTheFirstCallsOfATry) {
    const std::unique_ptr<World> world = world_of_one();
    Learner learner(*world, {.arms = [](Collective) { return std::vector{named("fast")}; }});
    const CallKey key = call_of(2, 0);
    Learner::Point& point = learner.begin(key, named("slow"));
    bool was_try = false;
    for (int call = 0; call < 300'000 && !point.search.time_of(1); ++call) {
        if (run_if_untimed(point)) continue;
        const bool is_try = learner.arm_for(point, key) == 1;
        const bool is_first = is_try && !was_try;
        learner.record(point, point.shape, is_first ? 10'000 : is_try ? 500 : 1000, 0);
        was_try = is_try;
    }
    ASSERT_TRUE(point.search.time_of(1));
    EXPECT_EQ(point.search.time_of(1)->high, 500);
}

// Two lengths far from each other in one octave, and each in place and not: no change of machine.
TEST(Learner, DoesNotMixCallsThatTakeDifferentTimes) {
    LearningProgram program(1);
    for (int i = 0; i < 300'000; ++i) {
        CallKey key = call_of(i % 2 == 0 ? 256 : 500, 0);
        key.in_place = i % 4 < 2;
        program.call(key);
    }
    EXPECT_EQ(program.choice_for(call_of(256, 0)), "fast");
    EXPECT_LE(program.regret(), bound);
}

}  // namespace
}  // namespace tutti
