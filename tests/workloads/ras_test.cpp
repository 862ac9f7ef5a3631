// SPDX-License-Identifier: Apache-2.0
// Snapshots of `ncclras -f json` for stragglers.
#include "tests/workloads/trace_folder.hpp"

namespace tutti {
namespace {

struct SnapshotOf {
    int ranks = 4;
    int late = -1;    // has begun 3 all-reduces fewer
    int silent = -1;  // is missing
    std::string status = R"("unresponsive": true, "considered_dead": false)";
    const char* comma = ",";  // NCCL 2.28 has none before the status of missing ranks
    bool is_known = true;     // RAS knows the process of the missing rank
};

std::string rank_in_snapshot(int rank, int all_reduces, int sends) {
    return fmt::format(
        R"({{"rank": {0}, "host": "10.0.0.{1}", "pid": {2}, "cuda_dev": {3}, "nvml_dev": {3},
 "status": {{"init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false, "abort_flag": false}},
 "collective_counts": {{"Broadcast": 7, "Reduce": 0, "AllGather": 2, "AllReduce": {4}, "Send": {5}}}}})",
        rank, rank / 2, 100 + rank, rank % 2, all_reduces, sends);
}

std::string communicator(const SnapshotOf& what, const std::string& hash = "0xabc") {
    std::string present, missing;
    for (int rank = 0; rank < what.ranks; ++rank) {
        std::string& list = rank == what.silent ? missing : present;
        if (!list.empty()) list += ",\n";
        list +=
            rank == what.silent && !what.is_known
                ? fmt::format(R"({{"rank": {}, "status": {{{}}}}})", rank, what.status)
            : rank == what.silent
                ? fmt::format(
                      R"({{"rank": {0}, "host": "10.0.0.{1}", "pid": {2}, "cuda_dev": {3}, "nvml_dev": {3}{4}
 "status": {{{5}}}}})",
                      rank, rank / 2, 100 + rank, rank % 2, what.comma, what.status)
                : rank_in_snapshot(rank, rank == what.late ? 97 : 100, 5 * rank);
    }
    return fmt::format(
        R"({{"hash": "{}", "secondary_hash": "0x1:0x2", "size": {}, "ranks_count": {}, "missing_ranks_count": {},
 "ranks": [{}], "missing_ranks": [{}]}})",
        hash, what.ranks, what.ranks - (missing.empty() ? 0 : 1), missing.empty() ? 0 : 1, present,
        missing);
}

std::string snapshot(const std::string& communicators) {
    return fmt::format(
        R"({{"nccl_version": "2.30.3", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
 "timestamp": "2026-11-28 10:00:00", "communicators_count": 1, "communicators": [{}],
 "ras": {{"collection_time_sec": 0.002, "timeouts_count": 0}}}})",
        communicators);
}

class RasSnapshots : public TraceFolder {};

TEST_F(RasSnapshots, NameTheRankThatIsBehind) {
    for (const int ranks : {2, 4, 7})
        for (int late = 0; late < ranks; ++late) {
            const Stragglers found = stragglers_in(
                file("ras.json", snapshot(communicator({.ranks = ranks, .late = late}))));
            EXPECT_EQ(found.missing_rank(), late);
            const RankArrivals& one = found.ranks.at(static_cast<std::size_t>(late));
            EXPECT_EQ(one.missing, 3);
            EXPECT_EQ(one.name, fmt::format("10.0.0.{}:{}", late / 2, 100 + late));
            EXPECT_EQ(one.fault, "");
        }
    const Stragglers alike = stragglers_in(file("ras.json", snapshot(communicator({}))));
    EXPECT_EQ(alike.missing_rank(), std::nullopt);  // numbers of sends may differ
    EXPECT_EQ(alike.begun, 109);
}

TEST_F(RasSnapshots, NameTheRankThatDoesNotAnswer) {
    for (const char* comma : {",", ""})
        for (const int ranks : {2, 4, 7})
            for (int silent = 0; silent < ranks; ++silent) {
                SnapshotOf what{.ranks = ranks, .silent = silent, .comma = comma};
                what.late = (silent + 1) % ranks;
                Stragglers found = stragglers_in(file("ras.json", snapshot(communicator(what))));
                EXPECT_EQ(found.missing_rank(), silent);
                EXPECT_EQ(found.ranks.at(static_cast<std::size_t>(silent)).fault,
                          "does not answer RAS");
                what.status = R"("unresponsive": true, "considered_dead": true)";
                found = stragglers_in(file("ras.json", snapshot(communicator(what))));
                EXPECT_EQ(found.ranks.at(static_cast<std::size_t>(silent)).fault,
                          "RAS reports it dead");
            }
}

// Two communicators of two ranks, and none of all: processes are numbered by host and process.
TEST_F(RasSnapshots, NeedNoCommunicatorOfAllRanks) {
    std::string other = communicator({.ranks = 2, .late = 1}, "0xdef");
    for (const auto& [old, now] :
         {std::pair{"\"pid\": 100", "\"pid\": 102"}, {"\"pid\": 101", "\"pid\": 103"}})
        other.replace(other.find(old), std::string(old).size(), now);
    const Stragglers found =
        stragglers_in(file("ras.json", snapshot(communicator({.ranks = 2}) + "," + other)));
    ASSERT_EQ(found.ranks.size(), 4U);
    EXPECT_EQ(found.missing_rank(), 3);
    EXPECT_EQ(found.ranks.at(3).name, "10.0.0.0:103");
}

// RAS knows no process for rank 2 of all, nor for rank 0 of a part: they may be the same, or not.
TEST_F(RasSnapshots, KeepUnknownProcessesOfPartsApart) {
    const std::string all = communicator({.silent = 2, .is_known = false}),
                      part = communicator({.ranks = 2, .silent = 0, .is_known = false}, "0xdef");
    for (const std::string& both : {all + "," + part, part + "," + all}) {
        const Stragglers found = stragglers_in(file("ras.json", snapshot(both)));
        ASSERT_EQ(found.ranks.size(), 5U);
        for (const int rank : {0, 1, 3})
            EXPECT_EQ(found.ranks.at(static_cast<std::size_t>(rank)).name,
                      fmt::format("10.0.0.{}:{}", rank / 2, 100 + rank));
        EXPECT_EQ(found.missing_rank(), 2);
        for (const auto& [rank, place] :
             {std::pair{2U, "rank 2 of communicator 0xabc"}, {4U, "rank 0 of communicator 0xdef"}})
            EXPECT_NE(found.ranks.at(rank).name.find(place), std::string::npos);
        EXPECT_EQ(found.ranks.at(4).fault, "does not answer RAS");
    }
}

// No communicator has all known processes: these get the first numbers, in any order of texts.
TEST_F(RasSnapshots, NumberUnknownProcessesLast) {
    std::string other = communicator({.ranks = 2, .silent = 0, .is_known = false}, "0xdef");
    const std::string old = "\"pid\": 101";
    other.replace(other.find(old), old.size(), "\"pid\": 103");
    const Stragglers found =
        stragglers_in(file("ras.json", snapshot(communicator({.ranks = 2}) + "," + other)));
    ASSERT_EQ(found.ranks.size(), 4U);
    EXPECT_EQ(found.ranks.at(0).name, "10.0.0.0:100");
    EXPECT_EQ(found.ranks.at(2).name, "10.0.0.0:103");
    EXPECT_EQ(found.missing_rank(), 3);
}

TEST_F(RasSnapshots, ThatCannotBeUsedSayWhy) {
    const std::string one = file("a.json", snapshot(communicator({}))),
                      other = file("b.json", snapshot(communicator({})));
    EXPECT_NE(error_of([&] { stragglers_in(one + "," + other); }).find("second"),
              std::string::npos);
    EXPECT_NE(refused(one).find("--stragglers"), std::string::npos) << refused(one);
    const std::string none = file("c.json", snapshot(""));
    EXPECT_NE(error_of([&] { stragglers_in(none); }).find("no communicator"), std::string::npos);
    const std::string twice = file(
        "d.json", snapshot(R"({"hash": "0x1", "size": 2, "ranks": [)" + rank_in_snapshot(1, 1, 1) +
                           "," + rank_in_snapshot(1, 1, 1) + "]}"));
    EXPECT_NE(error_of([&] { stragglers_in(twice); }).find("twice"), std::string::npos);
}

TEST_F(RasSnapshots, ThatAreDamagedAreReadOrRefusedInOneLine) {
    for (const char* comma : {",", ""})
        for_each_damaged(
            "ras.json",
            snapshot(communicator({.ranks = 3, .late = 1, .silent = 2, .comma = comma})), 2500, 6,
            expect_stragglers_or_one_line);
}

}  // namespace
}  // namespace tutti
