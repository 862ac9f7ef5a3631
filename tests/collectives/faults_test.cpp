// SPDX-License-Identifier: Apache-2.0
// A faulty run never looks like a correct one: the checker or the watchdog detects every fault of
// the loopback transport.
#include "collectives/transport/faults.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <regex>

#include "checked_plan.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

constexpr int ranks = 3;

std::vector<const Algorithm*> algorithms() {
    std::vector<const Algorithm*> all;
    for (Collective collective : {Collective::all_reduce, Collective::all_gather,
                                  Collective::scatter, Collective::broadcast})
        for (const char* name : {"ring", "tree", "butterfly", "round-robin"})
            all.push_back(&find_algorithm(collective, name));
    return all;
}

// The result of a run: the number of wrong elements on all ranks together, or an error.
struct Outcome {
    std::int64_t wrong_elements = 0;
    std::optional<Error> error;

    bool is_clean() const { return wrong_elements == 0 && !error; }
    bool timed_out_saying(const std::string& pattern) const {
        return error && error->code() == Exit::time_out &&
               std::regex_match(error->what(), std::regex(pattern));
    }
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
    return out << outcome.wrong_elements << " wrong elements, "
               << (outcome.error ? outcome.error->what() : "no error");
}

struct Timeouts {
    double in_plans;
    double at_meetings = 20;  // the busy test machine may start threads late
};

Outcome run_with(const Fault& fault, const Algorithm& algorithm, Timeouts timeouts, int runs = 2) {
    std::atomic<std::int64_t> wrong = 0;
    Outcome outcome;
    try {
        run_as_threads(ranks, timeouts.at_meetings, [&](World& world) {
            Planner planner(world, fault);
            test::CheckedPlan checked(planner, "loopback", algorithm, /*count=*/60);
            world.barrier();
            world.hang_timeout = timeouts.in_plans;
            for (int run = 0; run < runs; ++run) {
                checked.start();
                checked.wait();
                wrong += checked.wrong();
            }
            world.hang_timeout = timeouts.at_meetings;
            if (const auto left = checked.plan().left_over()) throw Error(*left);
            world.barrier();
        });
    } catch (const Error& error) {
        outcome.error = error;
    }
    outcome.wrong_elements = wrong;
    return outcome;
}

std::string to_text(const Fault& fault, const Algorithm& algorithm) {
    return to_string(fault) + " in " + std::string(name_of(algorithm.collective)) + " " +
           std::string(algorithm.name);
}

class LostMessages : public testing::TestWithParam<const char*> {};

TEST_P(LostMessages, EndInATimeOutThatNamesRankAlgorithmStepAndPeer) {
    const Fault fault = parse_fault(GetParam());
    for (const Algorithm* algorithm : algorithms()) {
        const Outcome outcome = run_with(fault, *algorithm, {.in_plans = 0.05});
        const std::string expected =
            "rank [0-2] waited 0\\.05 s in " + std::string(name_of(algorithm->collective)) + " " +
            std::string(algorithm->name) + " \\(loopback\\), step [0-9]+ .* rank [0-2]";
        EXPECT_TRUE(outcome.timed_out_saying(expected))
            << to_text(fault, *algorithm) << ": " << outcome;
    }
}

// Rank 0 sends in each of these algorithms.
INSTANTIATE_TEST_SUITE_P(Fault, LostMessages, testing::Values("drop", "delay", "stop:from=0"),
                         [](const auto& param) {
                             return std::string(param.param, std::strcspn(param.param, ":"));
                         });

// Rank 1 is done at once and would give up at the next meeting with nothing to report; but there it
// waits longer than rank 2 does within the plan.
TEST(LostMessages, AreReportedByTheRankThatMissesThem) {
    const Outcome outcome = run_with(parse_fault("drop:from=0,to=2,step=1"),
                                     find_algorithm(Collective::broadcast, "tree"),
                                     {.in_plans = 0.5, .at_meetings = 0.5});
    EXPECT_TRUE(outcome.timed_out_saying("rank 2 .*, step 1 .* rank 0")) << outcome;
}

TEST(CorruptMessages, ShowAsWrongElements) {
    for (const Algorithm* algorithm : algorithms())
        for (const char* text : {"corrupt", "corrupt:from=0,nth=1"}) {
            const Fault fault = parse_fault(text);
            const Outcome outcome = run_with(fault, *algorithm, {.in_plans = 20});
            EXPECT_TRUE(outcome.wrong_elements > 0 && !outcome.error)
                << to_text(fault, *algorithm) << ": " << outcome;
        }
}

// From the second copy on, every message is received one place late: the results are wrong, or no
// rank takes the last message and its sender waits in vain.
TEST(DoubledMessages, NeverPassForACleanRun) {
    for (const Algorithm* algorithm : algorithms()) {
        const Fault fault = parse_fault("double");
        EXPECT_FALSE(run_with(fault, *algorithm, {.in_plans = 0.05}).is_clean())
            << to_text(fault, *algorithm);
    }
}

TEST(DoubledMessages, AreLeftOverAtTheEnd) {
    const Outcome outcome =
        run_with(parse_fault("double:from=1,to=2"),
                 find_algorithm(Collective::all_reduce, "one-shot"), {.in_plans = 20}, /*runs=*/1);
    ASSERT_TRUE(outcome.error) << outcome;
    EXPECT_NE(std::string(outcome.error->what()).find("never received"), std::string::npos);
}

TEST(LateMessages, DoNoHarm) {
    for (const Algorithm* algorithm : algorithms()) {
        const Fault fault = parse_fault("delay:ms=5");
        const Outcome outcome = run_with(fault, *algorithm, {.in_plans = 20});
        EXPECT_TRUE(outcome.is_clean()) << to_text(fault, *algorithm) << ": " << outcome;
    }
}

// The run takes twice the timeout, but no step does.
TEST(LateMessages, AreWaitedForAsLongAsStepsGoOn) {
    const Outcome outcome =
        run_with(parse_fault("delay:ms=100"), find_algorithm(Collective::all_reduce, "ring"),
                 {.in_plans = 0.2}, /*runs=*/1);
    EXPECT_TRUE(outcome.is_clean()) << outcome;
}

// Then no rank is left to give a reason.
TEST(StoppedRanks, AreNoSuccessEvenIfAllOfThemStop) {
    const Outcome outcome = run_with(
        parse_fault("stop"), find_algorithm(Collective::all_reduce, "ring"), {.in_plans = 0.2});
    ASSERT_TRUE(outcome.error) << outcome;
    EXPECT_EQ(outcome.error->code(), Exit::rank_lost);
}

TEST(ParseFault, ReadsWhatToStringWrites) {
    for (const char* text :
         {"drop", "delay", "double", "corrupt", "stop", "drop:from=1", "double:from=1,to=2,step=0",
          "delay:ms=200", "corrupt:nth=3", "stop:from=1,to=0,step=12,nth=4"})
        EXPECT_EQ(to_string(parse_fault(text)), text);
}

TEST(ParseFault, KnowsTheFields) {
    const Fault fault = parse_fault("delay:step=4,from=1,to=2,nth=3,ms=250");
    EXPECT_EQ(fault.kind, Fault::Kind::delay);
    EXPECT_EQ(fault.from, Rank{1});
    EXPECT_EQ(fault.to, Rank{2});
    EXPECT_EQ(fault.step, 4);
    EXPECT_EQ(fault.nth, 3);
    EXPECT_DOUBLE_EQ(fault.delay_seconds, 0.25);
}

TEST(ParseFault, SaysWhatCanBeTypedInstead) {
    const auto complaint = [](const char* text) { return refusal_by([&] { parse_fault(text); }); };
    EXPECT_NE(complaint("explode").find("drop"), std::string::npos) << complaint("explode");
    EXPECT_NE(complaint("").find("drop"), std::string::npos) << complaint("");
    EXPECT_NE(complaint("drop:rank=1").find("step nth ms"), std::string::npos);
    for (const char* text :
         {"drop:from", "drop:from=", "drop:from=x", "drop:from=1x", "drop:from=-1",
          "drop:from=1,,to=2", "drop:=1", "drop:from=99999999999999999999"})
        EXPECT_NE(complaint(text), "") << text;
}

}  // namespace
}  // namespace tutti
