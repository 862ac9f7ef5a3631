// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/stragglers.hpp"

#include <functional>

#include "tests/workloads/trace_folder.hpp"

namespace tutti {
namespace {

// Returns how long after the first rank a rank arrives at a call, in us.
using Lateness = std::function<int(int rank, int call)>;

struct LoggedJob {
    int ranks = 4, calls = 100;
    Lateness lateness;
    int moving_us = 50;
    // The number of calls that a rank begins.
    std::function<int(int rank)> begun = {};
    std::function<int(int rank)> broadcasts = {};  // that a rank begins after all others

    int calls_of(int rank) const { return begun ? begun(rank) : calls; }
    // A rank's call begins when it arrives and ends on all ranks at the same time.
    int took_us(int rank, int call) const {
        int last = 0;
        for (int other = 0; other < ranks; ++other) last = std::max(last, lateness(other, call));
        return last - lateness(rank, call) + moving_us;
    }
    bool ends(int call) const {
        for (int rank = 0; rank < ranks; ++rank)
            if (calls_of(rank) <= call) return false;
        return true;
    }
};

std::string by_inspector(const LoggedJob& job, int rank) {
    std::string text;
    for (int call = 0; call < job.calls_of(rank) && job.ends(call); ++call)
        text += fmt::format(
            R"({{"header":{{"id":"0x1","rank":{0},"n_ranks":{1},"nnodes":1}},)"
            R"("metadata":{{"hostname":"node","pid":{2}}},"coll_perf":{{"coll":"AllReduce",)"
            R"("coll_sn":{3},"coll_msg_size_bytes":8192,"coll_exec_time_us":{4}}}}})"
            "\n",
            rank, job.ranks, 50 + rank, call, job.took_us(rank, call));
    return text;
}

std::string by_plugin(const LoggedJob& job, int rank) {
    std::string text = fmt::format(
        R"({{"event":"communicator","communicator":"1","rank":{},"ranks":{},"host":"node","pid":{}}})"
        "\n",
        rank, job.ranks, 50 + rank);
    for (int call = 0; call < job.calls_of(rank); ++call) {
        text +=
            fmt::format(R"({{"event":"call","communicator":"1","rank":{},"id":{},"sequence":{},)"
                        R"("collective":"all_reduce","type":"float","count":8,"unix_ns":5}})"
                        "\n",
                        rank, call + 1, call);
        if (job.ends(call))
            text += fmt::format(R"({{"event":"done","communicator":"1","rank":{},"id":{},)"
                                R"("gpu_ns":{}}})"
                                "\n",
                                rank, call + 1, 1000 * job.took_us(rank, call));
    }
    if (job.broadcasts && job.broadcasts(rank) > 0)
        text += fmt::format(R"({{"event":"call","communicator":"1","rank":{},"id":0,"sequence":0,)"
                            R"("collective":"broadcast","type":"float","count":8,"unix_ns":5}})"
                            "\n",
                            rank);
    return text;
}

std::string by_flight_recorder(const LoggedJob& job, int rank) {
    std::string entries;
    for (int call = 0; call < job.calls_of(rank); ++call)
        entries += fmt::format(
            R"({}{{"profiling_name":"nccl:all_reduce","process_group":["0","default_pg"],)"
            R"("collective_seq_id":{},"input_sizes":[[8]],"output_sizes":[[8]],"duration_ms":{}}})",
            entries.empty() ? "" : ",", call + 1,
            job.ends(call) ? fmt::format("{}", job.took_us(rank, call) / 1e3) : "null");
    if (job.broadcasts && job.broadcasts(rank) > 0)
        entries += R"(,{"profiling_name":"nccl:broadcast","process_group":["0","default_pg"],)"
                   R"("collective_seq_id":6})";
    return fmt::format(R"({{"version":"2.4","rank":{},"entries":[{}]}})", rank, entries);
}

// The kernel of a call ends on all ranks at the same time. The clocks of ranks differ.
std::string by_profiler(const LoggedJob& job, int rank) {
    std::string events;
    for (int call = 0; call < job.calls_of(rank); ++call) {
        if (!job.ends(call)) continue;
        const int took = job.took_us(rank, call);
        events += fmt::format(
            R"(,{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL",)"
            R"("ts":{},"dur":{},"args":{{"Collective name":"allreduce","dtype":"Float",)"
            R"("In msg nelems":8,"Out msg nelems":8,"Group size":{},"Process Group Name":"0",)"
            R"("Process Group Ranks":"[0, 1, ...]"}}}})",
            1000 * call + 77 * rank - took, took, job.ranks);
    }
    return fmt::format(
        R"({{"distributedInfo":{{"rank":{},"world_size":{}}},"traceEvents":[)"
        R"({{"ph":"X","cat":"cpu_op","name":"aten::add","ts":1,"dur":2,"args":{{}}}}{}]}})",
        rank, job.ranks, events);
}

class StragglerLogs : public TraceFolder,
                      public testing::WithParamInterface<std::string (*)(const LoggedJob&, int)> {
protected:
    Stragglers found_in(const LoggedJob& job, int logs = 0) const {
        std::string list;
        for (int rank = 0; rank < (logs > 0 ? logs : job.ranks); ++rank)
            list += (rank == 0 ? "" : ",") +
                    file(fmt::format("rank{}.json", rank), GetParam()(job, rank));
        return stragglers_in(list);
    }
};

TEST_P(StragglerLogs, NameTheRankThatIsOftenLate) {
    for (const int ranks : {2, 4, 7})
        for (int late = 0; late < ranks; ++late) {
            const Stragglers found = found_in({.ranks = ranks, .lateness = [&](int rank, int call) {
                                                   return rank == late ? 20 : (rank + call) % 3;
                                               }});
            EXPECT_EQ(found.slow_rank(), late);
            EXPECT_EQ(found.missing_rank(), std::nullopt);
            EXPECT_EQ(found.calls, 100);
            EXPECT_EQ(found.ranks.at(static_cast<std::size_t>(late)).last, 100);
        }
}

// Rank 1 arrives 30 us after the others at every second call.
TEST_P(StragglerLogs, CountTheWaitThatItCauses) {
    const Stragglers found = found_in(
        {.lateness = [](int rank, int call) { return rank == 1 && call % 2 == 0 ? 30 : 0; }});
    EXPECT_EQ(found.ranks.at(1).last, 50);
    EXPECT_NEAR(found.ranks.at(1).caused_wait_ns, 50 * 30e3, 1);
    EXPECT_NEAR(found.spent_ns, 50 * 80e3 + 50 * 50e3, 1);
    for (const std::size_t other : {0U, 2U, 3U}) EXPECT_EQ(found.ranks.at(other).last, 0);
    EXPECT_NEAR(found.ranks.at(0).expected_last, 25, 1e-6);
}

TEST_P(StragglerLogs, NameNobodyIfAllAreLateByTurns) {
    std::mt19937 random(5);
    std::vector<int> late(400);
    for (int& us : late) us = static_cast<int>(random() % 40);
    EXPECT_EQ(found_in({.lateness =
                            [&](int rank, int call) {
                                return late.at(static_cast<std::size_t>(4 * call + rank));
                            }})
                  .slow_rank(),
              std::nullopt);
    // Always last, but others wait only 1 us of 150.
    EXPECT_EQ(found_in({.lateness = [](int rank, int) { return rank == 3; }, .moving_us = 150})
                  .slow_rank(),
              std::nullopt);
    EXPECT_EQ(found_in({.lateness = [](int, int) { return 0; }}).slow_rank(), std::nullopt);
}

TEST_P(StragglerLogs, ThatAreDamagedAreReadOrRefusedInOneLine) {
    const LoggedJob job{.ranks = 2, .calls = 4, .lateness = [](int rank, int) { return rank; }};
    const std::string others = file("1.json", GetParam()(job, 1));
    for_each_damaged("0.json", GetParam()(job, 0), 5000, 3, [&](const std::string& typed) {
        expect_stragglers_or_one_line(typed + "," + others);
    });
}

INSTANTIATE_TEST_SUITE_P(Of, StragglerLogs,
                         testing::Values(by_inspector, by_plugin, by_flight_recorder, by_profiler),
                         [](const auto& one) {
                             return one.param == by_inspector  ? "Inspector"
                                    : one.param == by_plugin   ? "Plugin"
                                    : one.param == by_profiler ? "Profiler"
                                                               : "FlightRecorder";
                         });

class StragglersOfFewLogs : public StragglerLogs {};

TEST_P(StragglersOfFewLogs, AreNotKnown) {
    const Stragglers found = found_in({.lateness = [](int rank, int) { return 10 * rank; }}, 3);
    EXPECT_EQ(found.ranks.size(), 4U);
    EXPECT_EQ(found.calls, 0);
    EXPECT_EQ(found.slow_rank(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Of, StragglersOfFewLogs, testing::Values(by_inspector, by_plugin));

// Rank 2 hangs before its call 60; the others wait in theirs. The inspector logs no such calls.
class StragglersInHangs : public StragglerLogs {};

TEST_P(StragglersInHangs, NameTheRankThatHasNotBegun) {
    const Stragglers found =
        found_in({.lateness = [](int rank, int call) { return (rank + call) % 4; },
                  .begun = [](int rank) { return rank == 2 ? 60 : 61; }});
    EXPECT_EQ(found.missing_rank(), 2);
    EXPECT_EQ(found.ranks.at(2).missing, 1);
    EXPECT_EQ(found.ranks.at(0).missing, 0);
    EXPECT_EQ(found.calls, 60);
    EXPECT_EQ(found.slow_rank(), std::nullopt);
}

TEST_P(StragglersInHangs, NameARankThatHasBegunNoSuchCollective) {
    LoggedJob job{.calls = 5, .lateness = [](int, int) { return 0; }};
    job.broadcasts = [](int rank) { return rank == 1 ? 0 : 1; };
    EXPECT_EQ(found_in(job).missing_rank(), 1);
    EXPECT_EQ(found_in(job).ranks.at(1).missing, 1);
}

INSTANTIATE_TEST_SUITE_P(Of, StragglersInHangs, testing::Values(by_plugin, by_flight_recorder));

class StragglersIn : public TraceFolder {};

TEST_F(StragglersIn, OtherFilesAreNotLookedFor) {
    const std::string typed = file("a.json", R"([{"comms": "all_reduce", "in_msg_size": 4}])");
    const std::string words = error_of([&] { stragglers_in(typed); });
    EXPECT_NE(words.find("PARAM"), std::string::npos) << words;
    EXPECT_NE(words.find("mpiP"), std::string::npos) << words;  // a kind that can be used
}

TEST_F(StragglersIn, LogsOfTwoKindsAreRefused) {
    const LoggedJob job{.ranks = 2, .lateness = [](int, int) { return 0; }};
    const std::string first = file("0.json", by_profiler(job, 0)),
                      second = file("1.json", by_flight_recorder(job, 1));
    for (const std::string& typed : {first + "," + second, second + "," + first}) {
        const std::string words = error_of([&] { stragglers_in(typed); });
        EXPECT_NE(words.find("flight recorder"), std::string::npos) << words;
        EXPECT_NE(words.find("profiler"), std::string::npos) << words;
        EXPECT_NE(words.find("one kind"), std::string::npos) << words;
    }
}

// A shell lists rank10 before rank2.
TEST_F(StragglersIn, FilesWithRanksMayBeInAnyOrder) {
    const LoggedJob job{.ranks = 11, .lateness = [](int rank, int) { return rank == 2 ? 20 : 0; }};
    for (const auto write : {by_profiler, by_flight_recorder}) {
        std::string list;
        for (const int rank : {0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9})
            list +=
                (rank == 0 ? "" : ",") + file(fmt::format("rank{}.json", rank), write(job, rank));
        const Stragglers found = stragglers_in(list);
        EXPECT_EQ(found.slow_rank(), 2);
        EXPECT_TRUE(found.ranks.at(2).name.ends_with("rank2.json")) << found.ranks.at(2).name;
    }
}

// The files of one host of several, as a list in any order or as a folder.
TEST_F(StragglersIn, FilesOfSomeRanksKeepTheirNumbers) {
    const LoggedJob job{.ranks = 4, .lateness = [](int rank, int) { return rank == 3 ? 20 : 0; }};
    for (const auto write : {by_profiler, by_flight_recorder}) {
        const std::string third = file("b.json", write(job, 3)),
                          second = file("a.json", write(job, 2));
        for (const std::string& typed : {third + "," + second, second + "," + third, folder()}) {
            const Stragglers found = stragglers_in(typed);
            ASSERT_EQ(found.ranks.size(), 4U);
            EXPECT_EQ(found.ranks.at(1).name, "");
            EXPECT_EQ(found.ranks.at(2).name, second);
            EXPECT_EQ(found.ranks.at(3).name, third);
            if (write == by_flight_recorder) {
                EXPECT_EQ(found.slow_rank(), 3);
            } else {
                EXPECT_EQ(found.calls, 0);  // two of four ranks
            }
        }
    }
    std::string impossible = by_flight_recorder(job, 0);
    impossible.replace(impossible.find("\"rank\":0"), 8, "\"rank\":9999999");
    const std::string words = error_of([&] { stragglers_in(file("c.json", impossible)); });
    EXPECT_NE(words.find("9999999"), std::string::npos) << words;
}

// Steps that only one rank has recorded would be compared with other steps.
TEST_F(StragglersIn, ProfilesOfOtherStepsAreRefused) {
    LoggedJob job{.ranks = 2, .calls = 5, .lateness = [](int, int) { return 0; }};
    const std::string first = file("0.json", by_profiler(job, 0));
    job.calls = 6;
    const std::string second = file("1.json", by_profiler(job, 1));
    const std::string words = error_of([&] { stragglers_in(first + "," + second); });
    EXPECT_NE(words.find("same steps"), std::string::npos) << words;
}

TEST_F(StragglersIn, ProfilesOfAPartOfTheRanksAreNotCompared) {
    const LoggedJob job{.ranks = 3, .lateness = [](int rank, int) { return 10 * rank; }};
    const std::string first = file("0.json", by_profiler(job, 0));
    EXPECT_EQ(stragglers_in(first + "," + file("1.json", by_profiler(job, 1))).calls, 0);
}

// Their numbers tell which steps are the same.
TEST_F(StragglersIn, ProfilesWithNumbersAreComparedByThem) {
    const auto profile = [](int rank, int first) {
        std::string events;
        for (int number = first; number < first + 60; ++number)
            events += fmt::format(
                R"({}{{"cat":"kernel","ts":{},"dur":{},"args":{{"Collective name":"allreduce",)"
                R"("Group size":2,"Process Group Name":"0","Seq":{}}}}})",
                events.empty() ? "" : ",", 1000 * number, rank == 1 ? 50 : 60 + number, number);
        return fmt::format(R"({{"distributedInfo":{{"rank":{}}},"traceEvents":[{}]}})", rank,
                           events);
    };
    const std::string first = file("0.json", profile(0, 1)), second = file("1.json", profile(1, 3));
    const Stragglers found = stragglers_in(first + "," + second);
    EXPECT_EQ(found.calls, 58);
    EXPECT_EQ(found.slow_rank(), 1);
    // Rank 0 waits 10 + number us for rank 1, from number 3 to 60.
    EXPECT_NEAR(found.ranks.at(1).caused_wait_ns, 1e3 * (58 * 10 + (60 * 61 / 2 - 3)), 1);
}

}  // namespace
}  // namespace tutti
