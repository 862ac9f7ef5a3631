// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/stragglers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "base/error.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

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

class StragglerLogs : public testing::TestWithParam<std::string (*)(const LoggedJob&, int)> {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / fmt::format("tutti-stragglers-{}", getpid());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    Stragglers found_in(const LoggedJob& job, int logs = 0) const {
        std::string list;
        for (int rank = 0; rank < (logs > 0 ? logs : job.ranks); ++rank) {
            const fs::path file = folder_ / fmt::format("rank{}.json", rank);
            std::ofstream(file) << GetParam()(job, rank);
            list += (rank == 0 ? "" : ",") + file.string();
        }
        return stragglers_in(list);
    }

    fs::path folder_;
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
    const std::string others = (folder_ / "1.json").string(), mine = (folder_ / "0.json").string();
    std::ofstream(others) << GetParam()(job, 1);
    const std::string original = GetParam()(job, 0);
    std::mt19937 random(3);
    for (int trial = 0; trial < 1000; ++trial) {
        std::string damaged = original;
        if (trial % 3 == 0) damaged.resize(random() % original.size());
        for (unsigned change = 0; change < 1 + random() % 4 && !damaged.empty(); ++change)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        std::ofstream(mine, std::ios::binary) << damaged;
        try {
            EXPECT_EQ(stragglers_in(mine + "," + others).ranks.empty(), false);
        } catch (const Error& error) {
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Of, StragglerLogs,
                         testing::Values(by_inspector, by_plugin, by_flight_recorder),
                         [](const auto& one) {
                             return one.param == by_inspector ? "Inspector"
                                    : one.param == by_plugin  ? "Plugin"
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

TEST(Stragglers, AreNotLookedForInOtherFiles) {
    const auto file = fs::temp_directory_path() / fmt::format("tutti-no-log-{}.json", getpid());
    std::ofstream(file) << R"([{"comms": "all_reduce", "in_msg_size": 4}])";
    EXPECT_THROW(stragglers_in(file.string()), Error);
    fs::remove(file);
}

}  // namespace
}  // namespace tutti
