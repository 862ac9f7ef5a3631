// SPDX-License-Identifier: Apache-2.0
// A harmed run never looks like a sound one: what the loopback transport can do wrong, the checker
// or the watchdog sees.
#include "collectives/transport/faults.hpp"

#include <regex>

#include "threads.hpp"

namespace tutti {
namespace {

using test::Trial;

constexpr int ranks = 3;

std::vector<Trial> trials() {
    std::vector<Trial> all;
    for (Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::scatter, Collective::broadcast})
        for (const char* name : {"ring", "tree", "butterfly", "round-robin"})
            all.push_back({{collective, DataType::float32, Op::sum, Rank{0}, 60},
                           &find_algorithm(collective, name),
                           "loopback"});
    return all;
}

// What the ranks of a run had to say.
struct Outcome {
    std::int64_t wrong_elements = 0;
    std::vector<Error> errors;

    bool is_clean() const { return wrong_elements == 0 && errors.empty(); }

    // Whether some rank gave up with a text that matches.
    bool some_rank_timed_out(const std::string& text) const {
        return std::any_of(errors.begin(), errors.end(), [&](const Error& error) {
            return error.code() == Exit::time_out && std::regex_match(error.what(), std::regex(text));
        });
    }

    std::string text() const {
        std::string all = std::to_string(wrong_elements) + " wrong elements";
        for (const Error& error : errors) all += std::string("; ") + error.what();
        return all;
    }
};

Outcome run_with(const Fault& fault, const Trial& trial, double hang_timeout) {
    Outcome outcome;
    std::mutex mutex;
    try {
        run_as_threads(ranks, hang_timeout, [&](World& world) {
            Communicator communicator(world, fault);
            try {
                const std::int64_t wrong = wrong_elements(communicator, trial);
                const std::lock_guard lock(mutex);
                outcome.wrong_elements += wrong;
            } catch (const OthersFailed&) {
                throw;
            } catch (const Error& error) {
                const std::lock_guard lock(mutex);
                outcome.errors.push_back(error);
                throw;
            }
        });
    } catch (const Error& error) {
        if (outcome.errors.empty()) outcome.errors.push_back(error);
    }
    return outcome;
}

std::string name_of_run(const Fault& fault, const Trial& trial) {
    return to_string(fault) + " in " + to_text(trial, ranks);
}

class LostMessages : public testing::TestWithParam<const char*> {};

TEST_P(LostMessages, EndInATimeOutThatNamesRankAlgorithmStepAndPeer) {
    const Fault fault = parse_fault(GetParam());
    for (const Trial& trial : trials()) {
        const Outcome outcome = run_with(fault, trial, 0.2);
        const std::string expected = "rank [0-2] waited 0\\.2 s in " +
                                     std::string(name_of(trial.call.collective)) + " " +
                                     std::string(trial.algorithm->name) +
                                     " \\(loopback\\), step [0-9]+ of [0-9]+, for rank [0-2]";
        EXPECT_TRUE(outcome.some_rank_timed_out(expected))
            << name_of_run(fault, trial) << ": " << outcome.text();
    }
}

// Rank 0 sends in every one of the trials.
INSTANTIATE_TEST_SUITE_P(Fault, LostMessages, testing::Values("drop", "delay", "stop:from=0"),
                         [](const auto& param) {
                             return std::string(param.param, std::strcspn(param.param, ":"));
                         });

TEST(LostMessages, AreToldOfTheRankThatIsMissed) {
    const Trial tree{{Collective::broadcast, DataType::float32, Op::sum, Rank{0}, 60},
                     &find_algorithm(Collective::broadcast, "tree"),
                     "loopback"};
    const Outcome outcome = run_with(parse_fault("drop:from=0,to=2,step=1"), tree, 0.2);
    EXPECT_TRUE(outcome.some_rank_timed_out(
        "rank 2 waited 0\\.2 s in broadcast tree \\(loopback\\), step 1 of 2, for rank 0"))
        << outcome.text();
}

TEST(CorruptMessages, ShowAsWrongElements) {
    for (const Trial& trial : trials())
        for (const char* text : {"corrupt", "corrupt:from=0,nth=1"}) {
            const Fault fault = parse_fault(text);
            const Outcome outcome = run_with(fault, trial, 10);
            EXPECT_GT(outcome.wrong_elements, 0) << name_of_run(fault, trial);
            EXPECT_TRUE(outcome.errors.empty()) << name_of_run(fault, trial) << ": " << outcome.text();
        }
}

TEST(DoubledMessages, ShowAsWrongElementsOrAsLeftOver) {
    for (const Trial& trial : trials())
        for (const char* text : {"double", "double:from=0"}) {
            const Fault fault = parse_fault(text);
            EXPECT_FALSE(run_with(fault, trial, 10).is_clean()) << name_of_run(fault, trial);
        }
}

TEST(DoubledMessages, AreLeftOverAtTheEnd) {
    Trial once = trials()[0];
    once.runs = 1;
    once.algorithm = &find_algorithm(Collective::all_reduce, "one-shot");
    const Outcome outcome = run_with(parse_fault("double:from=1,to=2"), once, 10);
    EXPECT_EQ(outcome.text(),
              "0 wrong elements; a message from rank 1 to rank 2 was never received");
}

TEST(LateMessages, DoNoHarm) {
    for (const Trial& trial : trials()) {
        const Fault fault = parse_fault("delay:ms=20");
        EXPECT_TRUE(run_with(fault, trial, 10).is_clean()) << name_of_run(fault, trial);
    }
}

TEST(StoppedRanks, AreNeverASuccessEvenIfAllStop) {
    for (const Trial& trial : trials()) {
        const Fault fault = parse_fault("stop");
        EXPECT_FALSE(run_with(fault, trial, 0.2).is_clean()) << name_of_run(fault, trial);
    }
}

TEST(ParseFault, ReadsWhatToStringWrites) {
    for (const char* text : {"drop", "delay", "double", "corrupt", "stop", "drop:from=1",
                             "double:from=1,to=2,step=0", "delay:ms=200", "corrupt:nth=3",
                             "stop:from=1,to=0,step=12,nth=4"})
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
    const auto complaint = [](const char* text) -> std::string {
        try {
            parse_fault(text);
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_NE(complaint("explode").find("drop"), std::string::npos) << complaint("explode");
    EXPECT_NE(complaint("").find("drop"), std::string::npos) << complaint("");
    EXPECT_NE(complaint("drop:rank=1").find("known: from to step nth ms"), std::string::npos);
    for (const char* text : {"drop:from", "drop:from=", "drop:from=x", "drop:from=1x", "drop:from=-1",
                             "drop:from=1,,to=2", "drop:=1", "drop:from=99999999999999999999"})
        EXPECT_NE(complaint(text), "accepted") << text;
}

}  // namespace
}  // namespace tutti
