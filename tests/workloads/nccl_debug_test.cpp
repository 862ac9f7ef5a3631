// SPDX-License-Identifier: Apache-2.0
// Logs of NCCL_DEBUG=INFO as traces and for stragglers. The lines have the form of NCCL 2.3 to 2.30
// and of RCCL.
#include <fmt/ranges.h>

#include "tests/workloads/trace_folder.hpp"

namespace tutti {
namespace {

// A rank's address of a communicator.
std::string address(int rank, int communicator) {
    return fmt::format("0x{:x}", 0x5500 + 0x100 * rank + 0x10 * communicator);
}

std::string prefix(int rank) {
    return fmt::format("node{}:{}:{} [{}] NCCL INFO ", rank / 2, 100 + rank, 900 + rank, rank % 2);
}

// Joins names and values as NCCL prints them.
std::string joined(const std::vector<std::pair<const char*, std::string>>& fields) {
    std::string text;
    for (const auto& [name, value] : fields)
        text += fmt::format("{}{} {}", *name == 0 ? "" : " ", name, value);
    return text;
}

std::string creation(int rank, int communicator, int index, int ranks, const std::string& more) {
    const std::string device = std::to_string(rank % 2);
    return fmt::format("{}ncclCommInitRank{}{} - Init COMPLETE\n", prefix(rank),
                       joined({{"comm", address(rank, communicator)},
                               {"rank", std::to_string(index)},
                               {"nranks", std::to_string(ranks)},
                               {"cudaDev", device},
                               {"nvmlDev", device},
                               {"busId", "1000"}}),
                       more);
}

struct DebugCall {
    const char* name = "AllReduce";
    int number = 0;
    std::int64_t count = 8;
    int type = 7;  // float32
    int root = 0;
    std::string more = {};
};

std::string call(int rank, int communicator, int ranks, const DebugCall& what) {
    return fmt::format("{}{}:{}{}\n", prefix(rank), what.name,
                       joined({{"opCount", fmt::format("{:x}", what.number)},
                               {"sendbuff", "0x7f00"},
                               {"recvbuff", "(nil)"},
                               {"count", std::to_string(what.count)},
                               {"datatype", std::to_string(what.type)},
                               {"op", "0"},
                               {"root", std::to_string(what.root)},
                               {"comm", address(rank, communicator)},
                               {"", fmt::format("[nranks={}]", ranks)},
                               {"stream", "0x5a00"}}),
                       what.more);
}

// The lines of a rank: rank `late` has begun 40 calls and the others 43.
std::vector<std::string> lines_of(int rank, int ranks, int late, bool has_creation = true) {
    std::vector<std::string> lines{prefix(rank) + "NET/Socket : Using [0]eth0:10.0.0.1<0>\n"};
    if (has_creation) lines.push_back(creation(rank, 0, rank, ranks, " commId 0xabc"));
    for (int number = 0; number < (rank == late ? 40 : 43); ++number)
        lines.push_back(call(rank, 0, ranks, {.number = number}));
    return lines;
}

class NcclDebug : public TraceFolder {
protected:
    // A file for each rank.
    std::string files_of(int ranks, int late, bool has_creation) const {
        std::string list;
        for (int rank = 0; rank < ranks; ++rank)
            list +=
                (rank == 0 ? "" : ",") +
                file(fmt::format("{}.log", rank),
                     fmt::format("{}", fmt::join(lines_of(rank, ranks, late, has_creation), "")));
        return list;
    }
    // All ranks by turns in one file.
    std::string file_of_all(int ranks, int late, const std::string& before_lines = "") const {
        std::string text = "epoch 1\n";
        for (std::size_t line = 0; line < 45; ++line)
            for (int rank = ranks - 1; rank >= 0; --rank)
                if (const auto lines = lines_of(rank, ranks, late); line < lines.size())
                    text += before_lines + lines[line];
        return file("all.txt", text);
    }
};

TEST_F(NcclDebug, NamesTheRankThatIsBehind) {
    for (const int ranks : {2, 4, 7})
        for (int late = 0; late < ranks; ++late)
            for (const std::string& typed :
                 {files_of(ranks, late, true), files_of(ranks, late, false),
                  file_of_all(ranks, late), file_of_all(ranks, late, "[1,3]<stdout>:")}) {
                const Stragglers found = stragglers_in(typed);
                ASSERT_EQ(found.ranks.size(), static_cast<std::size_t>(ranks));
                EXPECT_EQ(found.missing_rank(), late) << typed;
                const RankArrivals& one = found.ranks.at(static_cast<std::size_t>(late));
                EXPECT_EQ(one.missing, 3);
                EXPECT_EQ(one.name, fmt::format("node{}:{}", late / 2, 100 + late));
                EXPECT_EQ(found.slow_rank(), std::nullopt);
            }
    EXPECT_EQ(stragglers_in(files_of(4, -1, true)).missing_rank(), std::nullopt);
    EXPECT_EQ(stragglers_in(files_of(4, -1, true)).begun, 43);
}

TEST_F(NcclDebug, OfAFolderIsFoundAmongOtherTexts) {
    files_of(4, 2, true);
    file("job.log", "[2026-11-28 10:00:00] INFO: epoch 1\n");
    file("notes.txt", "{");
    EXPECT_EQ(stragglers_in(folder()).missing_rank(), 2);
}

// NCCL counts (opCount) only calls that use a proxy, so the counts of ranks differ.
TEST_F(NcclDebug, IsNotComparedByTheNumbersOfNccl) {
    std::string text;
    for (const int rank : {0, 1}) {
        text += creation(rank, 0, rank, 2, " commId 0xabc");
        for (int number = 0; number < 10; ++number)
            text += call(rank, 0, 2, {.number = rank * number});
    }
    EXPECT_EQ(stragglers_in(file("a.log", text)).missing_rank(), std::nullopt);
}

TEST_F(NcclDebug, OfRcclNumbersItsRanks) {
    std::string text;
    for (const int rank : {2, 0, 1})
        for (int number = 0; number < (rank == 1 ? 3 : 5); ++number)
            text += call(rank, 0, 3,
                         {.number = number, .more = fmt::format(" task 0 globalrank {}", rank)});
    EXPECT_EQ(stragglers_in(file("a.log", text)).missing_rank(), 1);
}

TEST_F(NcclDebug, IsReplayed) {
    std::string text;
    for (const int rank : {0, 1, 2, 3}) {
        // Before 2.13 communicators have no number.
        text += creation(rank, 0, rank, 4, "");
        text += call(rank, 0, 4, {.name = "AllReduce", .count = 100, .type = 9});
        text += call(rank, 0, 4, {.name = "Broadcast", .count = 30, .type = 4, .root = 2});
        text += call(rank, 0, 4, {.name = "AllGather", .count = 5, .type = 6});
        text += call(rank, 0, 4, {.name = "AlltoAll", .count = 6, .type = 1});
    }
    const Trace trace = read_trace(file("a.log", text));
    EXPECT_EQ(trace.model, "nccl-debug-a");
    EXPECT_NE(trace.note.find("no times"), std::string::npos) << trace.note;
    for (const auto& calls : std::get<OpsTrace>(trace.what).ranks) {
        ASSERT_EQ(calls.size(), 4U);
        EXPECT_EQ(calls[0].collective, Collective::all_reduce);
        EXPECT_EQ(calls[0].type, DataType::bfloat16);
        EXPECT_EQ(calls[0].count, 100);
        EXPECT_EQ(calls[1].root, Rank{2});
        EXPECT_EQ(calls[1].type, DataType::int64);
        EXPECT_EQ(calls[2].count, 5);
        EXPECT_EQ(calls[2].type, DataType::half);
        EXPECT_EQ(calls[3].collective, Collective::all_to_all);
        EXPECT_EQ(calls[3].count, 6);
    }
    EXPECT_EQ(refused(file("a.log", text)), "");
}

// Ranks {1, 3} are a part of all ranks, which since 2.27 has no number of its own.
TEST_F(NcclDebug, KnowsPartsOfACommunicator) {
    std::string text;
    for (const int rank : {0, 1, 2, 3}) {
        text += creation(rank, 0, rank, 4, " commId 0xabc");
        text += creation(rank, 1, rank / 2, 2,
                         fmt::format(" parent {} splitCount 1 color {} key {}", address(rank, 0),
                                     rank % 2, rank));
        text += call(rank, 1, 2, {.name = "Reduce", .root = 1});
        text += call(rank, 0, 4, {.name = rank < 2 ? "Send" : "Recv", .root = (rank + 2) % 4});
    }
    const OpsTrace trace = ops(file("a.log", text));
    for (const int rank : {0, 1, 2, 3}) {
        const auto& calls = trace.ranks.at(static_cast<std::size_t>(rank));
        ASSERT_EQ(calls.size(), 2U);
        EXPECT_EQ(trace.groups.at(static_cast<std::size_t>(calls[0].group)),
                  (std::vector{Rank{rank % 2}, Rank{rank % 2 + 2}}));
        EXPECT_EQ(calls[0].root, Rank{rank % 2 + 2});
        EXPECT_EQ(calls[1].peer, Rank{(rank + 2) % 4});
    }
    EXPECT_EQ(refused(file("a.log", text)), "");
}

// The same address is used for two communicators, one after the other.
TEST_F(NcclDebug, KnowsWhenAnAddressIsUsedAgain) {
    std::string text;
    for (const int rank : {0, 1}) {
        text += creation(rank, 0, rank, 2, " commId 0xa");
        text += call(rank, 0, 2, {}) + call(rank, 0, 2, {});
        text += creation(rank, 0, 1 - rank, 2, " commId 0xb");
        text += call(rank, 0, 2, {.name = "Broadcast", .root = 0});
    }
    const OpsTrace trace = ops(file("a.log", text));
    EXPECT_EQ(trace.ranks.at(0).size(), 3U);
    EXPECT_EQ(trace.ranks.at(0).at(2).root, Rank{1});
}

// A process with two GPUs is two ranks.
TEST_F(NcclDebug, OfOneProcessMayHaveSeveralRanks) {
    std::string text;
    for (const int rank : {0, 1, 2, 3}) {
        text += creation(rank, 0, rank, 4, " commId 0xa");
        for (int number = 0; number < (rank == 3 ? 1 : 2); ++number)
            text += call(rank, 0, 4, {.number = number});
    }
    for (const auto& [old, now] : {std::pair{":101:", ":100:"}, {":103:", ":102:"}})
        for (std::size_t at = 0; (at = text.find(old, at)) != text.npos;) text.replace(at, 5, now);
    const Stragglers found = stragglers_in(file("a.log", text));
    EXPECT_EQ(found.missing_rank(), 3);
    EXPECT_EQ(found.ranks.at(3).name, "node1:102 GPU 1");
}

TEST_F(NcclDebug, OfOneProcessStandsForAllRanks) {
    const std::string typed = file("a.log", fmt::format("{}", fmt::join(lines_of(2, 4, -1), "")));
    EXPECT_EQ(ops(typed).ranks.size(), 4U);
    EXPECT_EQ(ops(typed).ranks.at(0).size(), 43U);
}

TEST_F(NcclDebug, MayEndInTheMiddleOfALine) {
    const std::string text = fmt::format("{}", fmt::join(lines_of(0, 1, -1), ""));
    for (const std::size_t torn : {30U, 60U, 100U})
        EXPECT_EQ(ops(file("a.log", text.substr(0, text.size() - torn))).ranks.at(0).size(), 42U);
    std::string damaged = text;
    damaged.erase(damaged.find("datatype"), 12);
    const std::string words = refused(file("a.log", damaged));
    EXPECT_NE(words.find("a.log:3:"), std::string::npos) << words;
    EXPECT_NE(words.find("NCCL_DEBUG_FILE"), std::string::npos) << words;
}

TEST_F(NcclDebug, ThatCannotBeUsedSaysWhy) {
    EXPECT_NE(refused(file("a.log", prefix(0) + "Bootstrap : Using eth0\n")).find("SUBSYS"),
              std::string::npos);
    const std::string two_of_four = call(0, 0, 4, {}) + call(1, 0, 4, {});
    EXPECT_NE(refused(file("a.log", two_of_four)).find("2 processes of 4 ranks"),
              std::string::npos);
}

TEST_F(NcclDebug, ThatIsDamagedIsReadOrRefusedInOneLine) {
    std::string text;
    for (const int rank : {0, 1}) {
        text += creation(rank, 0, rank, 2, " commId 0xabc");
        text += creation(rank, 1, rank, 2,
                         fmt::format(" parent {} splitCount 1 color 0 key 0", address(rank, 0)));
        for (int number = 0; number < 3; ++number)
            text += call(rank, number % 2, 2, {.number = number});
        text += call(rank, 1, 2, {.name = rank == 0 ? "Send" : "Recv", .root = 1 - rank});
    }
    for_each_damaged("a.log", text, 5000, 4, [](const std::string& typed) {
        expect_stragglers_or_one_line(typed);
        EXPECT_EQ(refused(typed).find('\n'), std::string::npos);
    });
}

}  // namespace
}  // namespace tutti
