// SPDX-License-Identifier: Apache-2.0
// Logs of NCCL's inspector and of libtutti_nccl.so as traces.
#include "tests/workloads/trace_folder.hpp"

namespace tutti {
namespace {

// A line of the inspector, format v4.0.
std::string inspected(const std::string& communicator, int rank, int ranks, int pid,
                      const std::string& perf) {
    return fmt::format(
        R"({{"header":{{"id":"{}","comm_name":"unknown","rank":{},"n_ranks":{},"nnodes":1}},)"
        R"("metadata":{{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":)"
        R"("nccl_profiler_interface","dump_timestamp_us":1,"hostname":"node1","pid":{}}},{}}})"
        "\n",
        communicator, rank, ranks, pid, perf);
}

std::string collective(const std::string& name, int bytes, const std::string& more = "") {
    return fmt::format(
        R"("coll_perf":{{"coll":"{}","coll_sn":1,"coll_msg_size_bytes":{},"coll_exec_time_us":9,)"
        R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.5,"coll_busbw_gbs":1.5{}}})",
        name, bytes, more);
}

std::string message(const std::string& name, int peer, int bytes) {
    return fmt::format(
        R"("p2p_perf":{{"p2p":"{}","p2p_sn":1,"p2p_peer":{},"p2p_msg_size_bytes":{},)"
        R"("p2p_exec_time_us":9,"p2p_timing_source":"kernel_gpu"}})",
        name, peer, bytes);
}

class NcclLogs : public TraceFolder {};

// Ranks 0 and 1 of all are processes 70 and 60; the groups are of ranks {0, 2} and {1, 3}.
std::string log_of_process(int pid) {
    const int rank = pid == 70 ? 0 : pid == 60 ? 1 : pid == 80 ? 2 : 3;
    const std::string part = rank % 2 == 0 ? "0xeeee" : "0xdddd";
    return inspected("0xffff", rank, 4, pid, collective("AllReduce", 8192)) +
           inspected(part, rank / 2, 2, pid, collective("AllGather", 4001)) +
           inspected("0xffff", rank, 4, pid, collective("ReduceScatter", 400)) +
           inspected("0xffff", rank, 4, pid,
                     rank < 2 ? message("Send", rank + 2, 40) : message("Recv", rank - 2, 40));
}

TEST_F(NcclLogs, OfTheInspectorAreReplayedWithTheirGroups) {
    for (const int pid : {60, 70, 80, 90})
        file(fmt::format("node1-pid{}.log", pid), log_of_process(pid));
    file("stdout.log", "[2026-11-28 10:00:00] INFO: epoch 1\n");  // the job's own output
    file("job.log",
         fmt::format("n:1:2 [0] NCCL INFO comm 0x1 rank 0 {} 4 - Init START\n", "nranks"));
    file("empty.log", "");
    const OpsTrace trace = ops(folder());
    ASSERT_EQ(trace.ranks.size(), 4U);
    for (int rank = 0; rank < 4; ++rank) {
        const auto& calls = trace.ranks[static_cast<std::size_t>(rank)];
        ASSERT_EQ(calls.size(), 4U);
        EXPECT_EQ(calls[0].collective, Collective::all_reduce);
        EXPECT_EQ(calls[0].count, 2048);
        EXPECT_EQ(calls[0].group, 0);
        EXPECT_EQ(calls[1].collective, Collective::all_gather);
        EXPECT_EQ(calls[1].type, DataType::uint8);  // 4001 bytes are no floats
        EXPECT_EQ(calls[1].count, 4001);
        const auto& members = trace.groups.at(static_cast<std::size_t>(calls[1].group));
        EXPECT_EQ(members, (std::vector{Rank{rank % 2}, Rank{rank % 2 + 2}}));
        EXPECT_EQ(calls[2].collective, Collective::reduce_scatter);
        EXPECT_EQ(calls[2].count, 100);  // elements of a block
        EXPECT_EQ(calls[3].kind, rank < 2 ? TraceOp::Kind::send : TraceOp::Kind::recv);
        EXPECT_EQ(calls[3].peer.index, (rank + 2) % 4);
        EXPECT_EQ(calls[3].count, 10);
    }
    EXPECT_EQ(refused(folder()), "");
}

// The peer of a message is a rank of its communicator.
TEST_F(NcclLogs, NameThePeersOfGroups) {
    std::string log;
    for (const int rank : {0, 1, 2})
        log += inspected("0xffff", rank, 3, 50 + rank, collective("AllReduce", 8));
    log += inspected("0xeeee", 0, 2, 52, message("Send", 1, 40));
    log += inspected("0xeeee", 1, 2, 50, message("Recv", 0, 40));
    const OpsTrace trace = ops(file("all.log", log));
    EXPECT_EQ(trace.ranks.at(2).at(1).peer, Rank{0});
    EXPECT_EQ(trace.ranks.at(0).at(1).peer, Rank{2});
}

TEST_F(NcclLogs, HaveTheTimesOfVerboseInspectors) {
    const auto at = [](int start) {
        return fmt::format(R"(,"event_trace_ts":{{"coll_start_ts":{},"coll_stop_ts":9}})", start);
    };
    std::string log = inspected("0x1", 0, 1, 5, collective("AllReduce", 8, at(1000))) +
                      inspected("0x1", 0, 1, 5, collective("AllReduce", 16, at(1700))) +
                      inspected("0x1", 0, 1, 5, collective("AllReduce", 24, at(1500)));
    const OpsTrace trace = ops(file("one.log", log));
    std::vector<std::int64_t> counts, computing;
    for (const TraceOp& op : trace.ranks.at(0))
        op.kind == TraceOp::Kind::compute ? computing.push_back(op.compute_ns)
                                          : counts.push_back(op.count);
    EXPECT_EQ(counts, (std::vector<std::int64_t>{2, 6, 4}));
    EXPECT_EQ(computing, (std::vector<std::int64_t>{500000, 200000}));
}

// Two ranks in one file of libtutti_nccl.so.
std::string own_log() {
    std::string text;
    for (const int rank : {1, 0})
        text += fmt::format(
            R"({{"event":"communicator","communicator":"00ab","rank":{0},"ranks":2,"hosts":1,)"
            R"("name":"","host":"node1","pid":{1},"unix_ns":1}})"
            "\n",
            rank, 50 + rank);
    for (const int rank : {0, 1})
        for (const int call : {1, 2})
            text += fmt::format(
                R"({{"event":"call","communicator":"00ab","rank":{0},"id":{1},"sequence":0,)"
                R"("collective":"all_gather","type":"bfloat16","count":{2},"bytes":8,)"
                R"("algorithm":"ring","protocol":"ll","channels":2,"unix_ns":{3}}})"
                "\n"
                R"({{"event":"done","communicator":"00ab","rank":{0},"id":{1},"gpu_start":5,)"
                R"("gpu_ns":7,"channel_ns":[6,7]}})"
                "\n",
                rank, call, 10 * call, 1000 * call + rank);
    return text;
}

TEST_F(NcclLogs, OfThePluginMayHaveAllRanksInOneFile) {
    const OpsTrace trace = ops(file("calls.jsonl", own_log()));
    ASSERT_EQ(trace.ranks.size(), 2U);
    for (const auto& ops : trace.ranks) {
        ASSERT_EQ(ops.size(), 3U);
        EXPECT_EQ(ops[0].count, 10);
        EXPECT_EQ(ops[0].type, DataType::bfloat16);
        EXPECT_EQ(ops[1].compute_ns, 1000);
        EXPECT_EQ(ops[2].count, 20);
    }
}

TEST_F(NcclLogs, MayEndInTheMiddleOfALine) {
    const std::string log = own_log();
    for (const std::size_t torn : {5U, 30U})
        EXPECT_EQ(ops(file("calls.jsonl", log.substr(0, log.size() - torn))).ranks.size(), 2U);
    std::string damaged = log;
    damaged[damaged.find("\"event\":\"call\"") + 1] = '\n';
    EXPECT_NE(refused(file("calls.jsonl", damaged)), "");
}

TEST_F(NcclLogs, OfOneProcessStandForAllRanks) {
    const std::string typed = file("node1-pid80.log", log_of_process(80));
    const Trace trace = read_trace(typed);
    const auto& ranks = std::get<OpsTrace>(trace.what).ranks;
    ASSERT_EQ(ranks.size(), 4U);
    for (const auto& ops : ranks) EXPECT_EQ(ops.size(), 2U);  // those of all ranks
    EXPECT_NE(trace.note.find("rank 2"), std::string::npos) << trace.note;
}

TEST_F(NcclLogs, ThatContradictEachOtherAreRefused) {
    const std::string one = inspected("0x1", 0, 2, 5, collective("AllReduce", 8));
    const struct {
        const char* key;
        std::string text;
    } cases[] = {
        {"same rank", one + inspected("0x1", 0, 2, 6, collective("AllReduce", 8))},
        {"two ranks", one + inspected("0x1", 1, 2, 5, collective("AllReduce", 8))},
        {"3 elsewhere", inspected("0x1", 1, 3, 6, collective("AllReduce", 8)) + one},
        {"rank 2 of 2", inspected("0x1", 2, 2, 5, collective("AllReduce", 8))},
        {"2 processes", inspected("0x1", 0, 3, 5, collective("AllReduce", 8)) +
                            inspected("0x1", 1, 3, 6, collective("AllReduce", 8))},
        {"largest", inspected("0x1", 0, 2, 5, collective("AllReduce", 8)) +
                        inspected("0x2", 0, 1, 6, collective("AllReduce", 8))},
        {"no line before", own_log().substr(own_log().find("{\"event\":\"call\""))},
        {"no communicator", "{\"event\":\"later\",\"communicator\":\"1\",\"rank\":0}\n"},
    };
    for (const auto& [key, text] : cases) {
        const std::string words = refused(file("a.log", text));
        EXPECT_NE(words.find(key), std::string::npos) << key << ": " << words;
        EXPECT_NE(words.find("a.log:"), std::string::npos) << words;
    }
}

TEST_F(NcclLogs, ThatAreDamagedAreRefusedOrReadInOneLine) {
    for (const std::string& original : {log_of_process(60), own_log()})
        for_each_damaged("a.log", original, 1000, 2, [](const std::string& typed) {
            EXPECT_EQ(refused(typed).find('\n'), std::string::npos);
        });
}

}  // namespace
}  // namespace tutti
