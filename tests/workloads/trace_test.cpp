// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/index.hpp"
#include "tests/base/messages.hpp"
#include "tests/workloads/traces.hpp"
#include "tests/workloads/write_trace.hpp"
#include "workloads/program/changed_program.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using Kind = Task::Kind;

void expect_start(const std::string& text, std::string_view start) {
    EXPECT_TRUE(text.starts_with(start)) << text;
}

class Traces : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() /
                  fmt::format("tutti-traces-{}-{}", getpid(),
                              testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return (folder_ / name).string();
    }
    std::string folder() const { return folder_.string(); }

    // The message, without the folder.
    std::string refusal(const std::string& typed) const {
        try {
            const Trace trace = read_trace(typed);
            if (const auto* ops = std::get_if<OpsTrace>(&trace.what)) program_of(*ops, trace.model);
        } catch (const Error& error) {
            std::string said = error.what();
            EXPECT_EQ(said.find('\n'), std::string::npos) << said;
            for (std::size_t at; (at = said.find(folder() + "/")) != std::string::npos;)
                said.erase(at, folder().size() + 1);
            return said;
        }
        return "nothing";
    }

    fs::path folder_;
};

const char* const gradients =
    R"({"schema":"gradtrace/1","form":"lines","kind":"gradients","model":"net","source":"here","licence":"MIT","world":2,"dtype":"float32","ready_order":[2,1,0]}
{"line":"parameter","id":0,"name":"a","shape":[4,5]}
{"line":"parameter","id":1,"name":"b","shape":[5]}
{"line":"parameter","id":2,"name":"c","shape":[7]}
{"line":"buffer","numel":3,"elem_bytes":8}
{"line":"bucket","numel":12,"params":[2,1]}
{"line":"bucket","numel":20,"params":[0]}
{"line":"iteration","rank":0,"forward_us":10,"backward_us":30.5,"optimizer_us":2,"ready_us":[1.25,9,30]}
{"line":"iteration","rank":0,"forward_us":11,"backward_us":31,"optimizer_us":3,"ready_us":[2,8,29],"allreduce":[{"numel":12,"start_us":8,"dur_us":4.5},{"numel":20,"start_us":30,"dur_us":1}]}
{"line":"iteration","rank":1,"forward_us":20,"backward_us":40,"optimizer_us":0,"ready_us":[3,9,39]}
{"line":"end","lines":11}
)";

std::string without_line(const std::string& text, int number) {
    std::size_t begin = 0;
    for (int line = 1; line < number; ++line) begin = text.find('\n', begin) + 1;
    return text.substr(0, begin) + text.substr(text.find('\n', begin) + 1);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

TEST_F(Traces, OfGradientsAreReadAsTheyWereRecorded) {
    const Trace trace = read_trace(file("net.jsonl", gradients));
    EXPECT_EQ(trace.model, "net");
    EXPECT_EQ(trace.licence, "MIT");
    const auto& net = std::get<GradientTrace>(trace.what);
    ASSERT_EQ(net.parameters.size(), 3u);
    EXPECT_EQ(net.parameters[0].count(), 20);
    EXPECT_EQ(net.ready_order, (std::vector<int>{2, 1, 0}));
    ASSERT_EQ(net.buckets.size(), 2u);
    EXPECT_EQ(net.buckets[0].count, 12);
    ASSERT_EQ(net.iterations.size(), 3u);
    EXPECT_EQ(net.iterations[0].ready_ns, (std::vector<std::int64_t>{1250, 9000, 30000}));
    EXPECT_EQ(net.iterations[0].backward_ns, 30500);
    EXPECT_EQ(net.iterations[1].all_reduces.at(0).duration_ns, 4500);
    EXPECT_EQ(net.recorded_ranks(), 2);
}

TEST_F(Traces, AreTheSameAfterTheyWereWritten) {
    const std::string once = to_json_lines(read_trace(file("net.jsonl", gradients)));
    EXPECT_EQ(to_json_lines(read_trace(file("again.jsonl", once))), once);
    EXPECT_EQ(std::ranges::count(once, '\n'), 11);
    EXPECT_NE(once.find("\"ready_us\":[1.25,9,30]"), std::string::npos) << once;
}

TEST_F(Traces, ThatAreCutOffAreRefusedWithTheirLine) {
    const std::string whole = gradients;
    for (std::size_t length = whole.find('\n') + 1; length < whole.size() - 1; ++length) {
        const auto text = whole.substr(0, length);
        const auto full_lines = std::ranges::count(text, '\n');
        const auto line = full_lines + (text.back() == '\n' ? 0 : 1);
        const std::string expected = fmt::format("cut.jsonl:{}: ", line);
        EXPECT_EQ(refusal(file("cut.jsonl", text)).substr(0, expected.size()), expected) << length;
    }
}

TEST_F(Traces, ThatLackALineAreRefused) {
    for (int line = 2; line <= 10; ++line)
        EXPECT_NE(refusal(file("net.jsonl", without_line(gradients, line))), "nothing") << line;
    expect_start(refusal(file("net.jsonl", without_line(gradients, 5))),
                 "net.jsonl:10: lines are missing");
}

TEST_F(Traces, NameFileAndLineOfAnError) {
    const auto with = [&](const char* from, const char* to) {
        return refusal(file("net.jsonl", replaced(gradients, from, to)));
    };
    expect_start(with("[3,9,39]", "[3,9]"), "net.jsonl:10: 'ready_us' has 2");
    expect_start(with("[3,9,39]", "[3,-9,39]"), "net.jsonl:10: 'ready_us[1]'");
    expect_start(with("[3,9,39]", "[3,\"x\",39]"), "net.jsonl:10: 'ready_us[1]'");
    expect_start(with("\"numel\":20,\"params\"", "\"numel\":21,\"params\""),
                 "net.jsonl:7: 'numel' is 21");
    expect_start(with("[2,1]}", "[2,3]}"), "net.jsonl:6: parameter 3");
    expect_start(with("\"id\":1", "\"id\":0"), "net.jsonl:3: parameter 0");
    expect_start(with("[4,5]", "[4000000000,5000000000]"), "net.jsonl:2: 'shape'");
    expect_start(with("[4,5]", "[-4,-5]"), "net.jsonl:2: 'shape' has -4");
    expect_start(with("[2,1,0]", "[2,2,0]"), "net.jsonl:1: 'ready_order'");
    EXPECT_NE(with("float32", "float31").find("net.jsonl:1: unknown type 'float31'"),
              std::string::npos);
    expect_start(with("gradtrace/1", "gradtrace/2"), "net.jsonl:1: not a trace: ");
    expect_start(with("\"line\":\"buffer\"", "\"line\":\"banana\""),
                 "net.jsonl:5: 'line' is 'banana', ");
    expect_start(refusal(folder() + "/absent.jsonl"), "absent.jsonl: ");
}

TEST_F(Traces, AsOneDocumentKnowTheirLinesToo) {
    const auto text = R"({"schema": "gradtrace/1", "kind": "gradients", "model": "net",
 "ready_order": [1, 0], "ready_param_numel": [3, 4],
 "iterations": [
  {"ready_us": [1, 2], "backward_gpu_us": 3, "allreduce": [{"numel": 7}]},
  {"ready_us": [1, 2, 3]}]})";
    expect_start(refusal(file("net.json", text)), "net.json:5: 'ready_us' has 3");
    expect_start(refusal(file("net.json", std::string(text).substr(0, 160))),
                 "net.json:4: invalid JSON");
    const Trace trace = read_trace(file("net.json", replaced(text, "[1, 2, 3]", "[1, 2]")));
    const auto& net = std::get<GradientTrace>(trace.what);
    ASSERT_EQ(net.buckets.size(), 1u);  // cut by the all-reduces from the ready order
    EXPECT_EQ(net.buckets[0].parameters, (std::vector<int>{1, 0}));
    EXPECT_EQ(net.parameters[1].count(), 3);
}

TEST_F(Traces, OfGradientsBecomeStepsWithTheirTimes) {
    const Trace trace = read_trace(file("net.jsonl", gradients));
    const auto& net = std::get<GradientTrace>(trace.what);
    Program program = program_of(net, trace.model, net.buckets, 5);
    check(program);
    // Ranks 0, 2, 4 are as rank 0 was, ranks 1, 3 as rank 1; steps take turns.
    EXPECT_EQ(compute_ns_of_step(program, Rank{0}, 0), 10000 + 30500 + 2000);
    EXPECT_EQ(compute_ns_of_step(program, Rank{4}, 1), 11000 + 31000 + 3000);
    EXPECT_EQ(compute_ns_of_step(program, Rank{2}, 2), 10000 + 30500 + 2000);
    EXPECT_EQ(compute_ns_of_step(program, Rank{3}, 7), 20000 + 40000);
    EXPECT_EQ(bytes_of_step(program, Rank{1}), 4 * 32 + 8 * 3);

    const Program twice = repeated(program, 2);
    check(twice);
    EXPECT_EQ(bytes_of_step(twice, Rank{1}), 2 * (4 * 32 + 8 * 3));
    EXPECT_EQ(compute_ns_of_step(twice, Rank{0}, 3), 42500 + 45000);
    stretch(program, 0.5);
    EXPECT_EQ(compute_ns_of_step(program, Rank{0}, 0), 21250);
}

const char* const ops =
    R"({"schema":"gradtrace/1","form":"lines","kind":"ops","model":"pipe","world":3}
{"line":"group","id":7,"ranks":[0,2]}
{"line":"op","rank":0,"op":"compute","id":1,"compute_us":5,"phase":"fwd"}
{"line":"op","rank":0,"op":"all_reduce","id":2,"group":7,"dtype":"bfloat16","count":10,"phase":"fwd"}
{"line":"op","rank":0,"op":"compute","id":3,"compute_us":6}
{"line":"op","rank":0,"op":"send","id":4,"peer":1,"count":9,"deps":[2,3]}
{"line":"op","rank":0,"op":"all_to_allv","id":5,"in_split":[1,2,3],"out_split":[1,4,7],"count":6}
{"line":"op","rank":1,"op":"recv","id":1,"peer":0,"count":9}
{"line":"op","rank":1,"op":"wait","deps":[1]}
{"line":"op","rank":1,"op":"compute","compute_us":2.5,"phase":"opt"}
{"line":"op","rank":1,"op":"all_to_allv","in_split":[4,5,6],"out_split":[2,5,8],"count":15}
{"line":"op","rank":2,"op":"all_reduce","group":7,"dtype":"bfloat16","count":10}
{"line":"op","rank":2,"op":"all_to_allv","in_split":[7,8,9],"out_split":[3,6,9],"count":24}
{"line":"end","lines":14}
)";

TEST_F(Traces, OfCallsKeepGroupsGapsAndDependencies) {
    const Trace trace = read_trace(file("pipe.jsonl", ops));
    const auto [program, padding] =
        program_of(std::get<OpsTrace>(trace.what), trace.model, Blocks::padded);
    check(program);
    ASSERT_EQ(program.ranks(), 3);
    const auto& tasks = program.tasks[0];
    const auto call = [&](std::size_t task) { return program.calls.at(tasks.at(task).call); };
    ASSERT_EQ(tasks.size(), 8u);
    EXPECT_EQ(tasks[0].compute_ns, (std::vector<std::int64_t>{5000}));
    EXPECT_EQ(tasks[0].phase, Task::Phase::forward);
    EXPECT_EQ(tasks[1].kind, Kind::start);
    EXPECT_EQ(program.groups[call(1).group], (std::vector<Rank>{{0}, {2}}));
    EXPECT_EQ(call(1).call.type, DataType::bfloat16);
    EXPECT_EQ(tasks[2].compute_ns, (std::vector<std::int64_t>{6000}));
    EXPECT_EQ(tasks[3].kind, Kind::wait);  // the send depends on it
    EXPECT_EQ(tasks[3].call, tasks[1].call);
    EXPECT_EQ(tasks[4].kind, Kind::start);
    EXPECT_EQ(call(4).call.collective, Collective::broadcast);
    EXPECT_EQ(call(4).call.root.index, 0);
    EXPECT_EQ(program.groups[call(4).group], (std::vector<Rank>{{0}, {1}}));
    EXPECT_EQ(tasks[5].kind, Kind::start);
    EXPECT_EQ(call(5).call.count, 9);  // the largest part
    EXPECT_EQ(padding, 4 * (9 * 9 - 45));
    EXPECT_EQ(program.tasks[1][1].kind, Kind::wait);
    EXPECT_EQ(program.tasks[1][2].compute_ns, (std::vector<std::int64_t>{2500}));
}

TEST_F(Traces, OfCallsKeepBarriersAndScans) {
    const Trace trace = read_trace(
        file("sync.json", R"({"schema":"gradtrace/1","kind":"ops","model":"sync","world":2,"ranks":[
{"rank":0,"ops":[{"op":"barrier"},{"op":"scan","count":5}]},
{"rank":1,"ops":[{"op":"c10d::monitored_barrier_"},{"op":"scan","count":5}]}]})"));
    const auto [program, padding] = program_of(std::get<OpsTrace>(trace.what), trace.model);
    check(program);
    ASSERT_EQ(program.calls.size(), 2u);
    EXPECT_EQ(program.calls[0].label, "barrier");
    EXPECT_EQ(program.calls[0].call.collective, Collective::barrier);
    EXPECT_EQ(program.calls[0].call.count, 0);
    EXPECT_EQ(program.calls[1].call.collective, Collective::scan);
    EXPECT_EQ(bytes_of_step(program, Rank{0}), 20);
}

TEST_F(Traces, OfCallsSendUnevenPartsAsRecorded) {
    const Trace trace = read_trace(file("pipe.jsonl", ops));
    const auto [program, padding] = program_of(std::get<OpsTrace>(trace.what), trace.model);
    check(program);
    EXPECT_EQ(padding, 0);
    const auto one = std::ranges::find(program.calls, Collective::all_to_all,
                                       [](const GroupCall& call) { return call.call.collective; });
    ASSERT_NE(one, program.calls.end());
    ASSERT_NE(one->call.lengths, nullptr);
    for (int pair = 0; pair < 9; ++pair) EXPECT_EQ(one->call.lengths->of(pair), pair + 1);
    const Program copy = program;  // shares the lengths
    EXPECT_EQ(copy.calls, program.calls);
}

TEST_F(Traces, OfCallsKeepTheCountsOfEachRank) {
    const auto text = [](const char* op) {
        return fmt::format(
            R"({{"schema":"gradtrace/1","kind":"ops","model":"counts","world":3,"ranks":[
{{"rank":0,"ops":[{{"op":"{0}","count":5,"root":1}}]}},
{{"rank":1,"ops":[{{"op":"{0}","count":0,"root":1}}]}},
{{"rank":2,"ops":[{{"op":"{0}","count":7,"root":1}}]}}]}})",
            op);
    };
    const std::int64_t counts[] = {5, 0, 7};
    // Bytes that all ranks pass beyond the trace, in units of the 9 elements by which blocks grow.
    const std::pair<const char*, int> copies[] = {
        {"all_gather", 1}, {"gather", 1}, {"scatter", 1}, {"reduce_scatter", 3}};
    for (const auto& [op, times] : copies) {
        const Trace trace = read_trace(file("counts.json", text(op)));
        const auto exact = program_of(std::get<OpsTrace>(trace.what), op);
        EXPECT_EQ(exact.program.calls.at(0).call.lengths->longest(), 7) << op;
        for (int rank = 0; rank < 3; ++rank)
            EXPECT_EQ(exact.program.calls[0].call.lengths->of(rank), at(counts, rank)) << op;
        const auto padded = program_of(std::get<OpsTrace>(trace.what), op, Blocks::padded);
        EXPECT_EQ(padded.program.calls.at(0).call.lengths, nullptr) << op;
        EXPECT_EQ(padded.program.calls[0].call.count, 7) << op;
        EXPECT_EQ(padded.padding_bytes, times * 9 * 4) << op;
    }
    const Trace even = read_trace(file("counts.json", text("all_reduce")));
    EXPECT_NE(thrown_by([&] { program_of(std::get<OpsTrace>(even.what), "x"); }).text, "");
}

TEST_F(Traces, OfCallsAreTheSameAfterTheyWereWritten) {
    const std::string once = to_json_lines(read_trace(file("pipe.jsonl", ops)));
    const Trace again = read_trace(file("again.jsonl", once));
    EXPECT_EQ(to_json_lines(again), once);
    const auto [program, padding] =
        program_of(std::get<OpsTrace>(again.what), "pipe", Blocks::padded);
    EXPECT_EQ(program.tasks[0].size(), 8u);
    EXPECT_EQ(padding, 4 * (9 * 9 - 45));
}

TEST_F(Traces, OfCallsThatDoNotFitTogetherNameBothPlaces) {
    const auto with = [&](const char* from, const char* to) {
        return refusal(file("pipe.jsonl", replaced(ops, from, to)));
    };
    expect_start(
        with("\"rank\":2,\"op\":\"all_reduce\",\"group\":7,\"dtype\":\"bfloat16\",\"count\":10",
             "\"rank\":2,\"op\":\"all_reduce\",\"group\":7,\"dtype\":\"bfloat16\",\"count\":11"),
        "pipe.jsonl:12: rank 2");
    expect_start(with("\"peer\":0,\"count\":9", "\"peer\":0,\"count\":8"),
                 "pipe.jsonl:8: 8 elements");
    expect_start(with("\"peer\":0,\"count\":9", "\"peer\":2,\"count\":9"), "pipe.jsonl:8: rank 2");
    expect_start(with("\"in_split\":[1,2,3]", "\"in_split\":[1,3,2]"),
                 "pipe.jsonl:7: rank 0 sends 3");
    expect_start(with("\"deps\":[2,3]", "\"deps\":[2,9]"), "pipe.jsonl:6: depends on op 9");
    expect_start(with("\"rank\":1,\"op\":\"wait\"", "\"rank\":3,\"op\":\"wait\""),
                 "pipe.jsonl:9: 'rank'");
    expect_start(with("\"op\":\"send\"", "\"op\":\"sendd\""), "pipe.jsonl:6: unknown op 'sendd'; ");
    expect_start(with("\"group\":7,\"dtype\"", "\"group\":8,\"dtype\""), "pipe.jsonl:4: group 8");
    expect_start(refusal(file("pipe.jsonl", replaced(without_line(ops, 12), "14}", "13}"))),
                 "trace 'pipe': rank 2");
}

TEST_F(Traces, WithoutComputingHaveTheGapsBetweenLaunches) {
    const auto text =
        R"({"schema":"gradtrace/1","kind":"ops","model":"gaps","world":1,"ranks":[{"rank":0,"ops":[
{"op":"all_reduce","count":1,"orig_launch_us":100},
{"op":"all_reduce","count":1,"orig_launch_us":140},
{"op":"all_reduce","count":1,"orig_launch_us":150}]}]})";
    const Trace trace = read_trace(file("gaps.json", text));
    const auto made = program_of(std::get<OpsTrace>(trace.what), trace.model);
    EXPECT_EQ(compute_ns_of_step(made.program, Rank{0}, 0), 50000);
}

TEST_F(Traces, OfParamHaveAFileForEachRank) {
    for (const char* name : {"0.json", "1.json"}) {
        const bool is_first = name[0] == '0';
        file(name, fmt::format(R"([
 {{"comms": "init", "pg_id": 0, "global_ranks": [0, 1], "startTime_ns": 1000}},
 {{"compute": "gemm", "mm_dim": 64, "startTime_ns": 1500}},
 {{"comms": "all_gather", "pg_id": 0, "in_msg_size": 8, "out_msg_size": 16, "dtype": "float", "req": 3, "startTime_ns": 5000}},
 {{"comms": "all_to_allv", "pg_id": 0, "in_msg_size": {}, "out_msg_size": {}, "dtype": "Int", "req": [4, 0],
   "in_split": {}, "out_split": {}, "startTime_ns": 6000}},
 {{"comms": "wait", "req": 3, "startTime_ns": 6000}},
 {{"comms": "reduce_scatter", "in_msg_size": 10, "out_msg_size": 5, "dtype": "c10::Half", "startTime_ns": 9000}}])",
                               is_first ? 3 : 7, is_first ? 4 : 6, is_first ? "[1, 2]" : "[3, 4]",
                               is_first ? "[1, 3]" : "[2, 4]"));
    }
    const Trace trace = read_trace(folder());
    const auto [program, padding] =
        program_of(std::get<OpsTrace>(trace.what), trace.model, Blocks::padded);
    check(program);
    ASSERT_EQ(program.calls.size(), 3u);
    EXPECT_EQ(program.calls[0].call.count, 8);
    EXPECT_EQ(program.calls[1].call.count, 4);
    EXPECT_EQ(program.calls[1].call.type, DataType::int32);
    EXPECT_EQ(program.calls[2].call.count, 5);
    EXPECT_EQ(program.calls[2].call.type, DataType::half);
    EXPECT_EQ(padding, 4 * (4 * 4 - 10));
    for (int rank : {0, 1}) EXPECT_EQ(compute_ns_of_step(program, Rank{rank}, 0), 8000);
    std::vector<Kind> kinds;
    for (const Task& task : program.tasks[0]) kinds.push_back(task.kind);
    using enum Task::Kind;
    EXPECT_EQ(kinds, (std::vector<Kind>{compute, compute, start, compute, start, wait, compute,
                                        start, wait, wait}));
    EXPECT_EQ(read_trace(folder() + "/0.json," + folder() + "/1.json").world, 2);
    expect_start(refusal(folder() + "/0.json"), "0.json:4: ");
    fs::rename(folder_ / "1.json", folder_ / "2.json");
    EXPECT_NE(refusal(folder()).find("rank 1 is missing"), std::string::npos);
}

TEST_F(Traces, OfCallsAloneSayTheWholeInput) {
    const Trace trace = read_trace(file("net.json", R"({"schema": "gradtrace/1", "kind": "comms",
 "model": "net", "world": 4, "comms": [{"op": "all_reduce", "numel": 12}, {"op": "reduce_scatter", "numel": 12},
 {"op": "scatter", "numel": 12}, {"op": "all_to_all", "numel": 12}, {"op": "all_gather", "numel": 12}]})"));
    const Program program = program_of(std::get<OpsTrace>(trace.what), trace.model).program;
    std::vector<std::int64_t> counts;
    for (const auto& call : program.calls) counts.push_back(call.call.count);
    EXPECT_EQ(counts, (std::vector<std::int64_t>{12, 3, 3, 3, 12}));
}

TEST_F(Traces, OfChakraAreTheirCallsOnly) {
    for (const char* name : {"net.rank0.json", "net.rank1.json"})
        file(name, R"json({"schema": "1.1.1-chakra.0.0.4", "nodes": [
 {"id": 1, "name": "## process_group:init ##", "inputs": {"values":
   ["[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"ranks\": [0, 1], \"group_size\": 2}]"], "types": ["String"]}},
 {"id": 2, "name": "aten::mm", "inputs": {"values": [], "types": []}},
 {"id": 3, "name": "record_param_comms", "inputs": {"values":
   [[[18, 19, 0, 1000, 2, "cuda:0"]], 12, ["0", "default_pg"], 0, "allreduce", [], [], 0, 1, 2], "types": ["GenericList[Tensor(c10::BFloat16)]", "Int"]},
   "outputs": {"values": [[[18, 19, 0, 1000, 2, "cuda:0"]]], "types": ["GenericList[Tensor(c10::BFloat16)]"]}},
 {"id": 4, "name": "record_param_comms", "inputs": {"values": [12, ["0", "default_pg"], 0, "wait", [], [], 0, 1, 2], "types": []},
   "outputs": {"values": [], "types": []}},
 {"id": 5, "name": "record_param_comms", "inputs": {"values":
   [[20, 21, 0, 6, 4, "cuda:0"], 13, ["0", "default_pg"], 0, "all_to_allv", [2, 4], [2, 4], 0, 1, 2], "types": ["Tensor(float)", "Int"]},
   "outputs": {"values": [[22, 23, 0, 6, 4, "cuda:0"]], "types": ["Tensor(float)"]}},
 {"id": 6, "name": "record_param_comms", "inputs": {"values":
   [[[24, 25, 0, 7, 4, "cuda:0"]], 14, ["0", "default_pg"], 1, "broadcast", [], [], 0, 1, 2], "types": ["GenericList[Tensor(float)]", "Int"]},
   "outputs": {"values": [[[24, 25, 0, 7, 4, "cuda:0"]]], "types": ["GenericList[Tensor(float)]"]}}]})json");
    // Rank 0 sends 2 to itself and 4 to rank 1, which sends 4 back and keeps 2.
    file("net.rank1.json",
         replaced(content_of(folder_ / "net.rank1.json"), "[2, 4], [2, 4]", "[4, 2], [4, 2]"));
    const Trace trace = read_trace(folder());
    EXPECT_NE(trace.note.find("no times"), std::string::npos);
    const auto [program, padding] =
        program_of(std::get<OpsTrace>(trace.what), trace.model, Blocks::padded);
    check(program);
    ASSERT_EQ(program.calls.size(), 3u);
    EXPECT_EQ(program.calls[0].call.count, 1000);
    EXPECT_EQ(program.calls[0].call.type, DataType::bfloat16);
    EXPECT_EQ(program.calls[1].call.count, 4);
    EXPECT_EQ(program.calls[2].call.collective, Collective::broadcast);
    EXPECT_EQ(program.calls[2].call.root, Rank{1});
    EXPECT_EQ(padding, 4 * (4 * 4 - 12));
    EXPECT_EQ(program.tasks[0][1].kind, Kind::wait);
    EXPECT_EQ(program.tasks[0].size(), 6u);
}

TEST_F(Traces, BringTheirGradientsIntoWhateverBuckets) {
    const std::string trace_file = file("net.jsonl", gradients);
    const Trace trace = read_trace(trace_file);
    const auto& net = std::get<GradientTrace>(trace.what);
    // Element e of rank r's flat gradient in step s is 1000 s + 100 r + e.
    for (int step : {0, 1})
        for (int rank : {0, 1})
            for (int bucket : {0, 1}) {
                std::string bytes;
                for (int e = bucket == 0 ? 0 : 12; e < (bucket == 0 ? 12 : 32); ++e) {
                    const auto value = static_cast<float>(1000 * step + 100 * rank + e);
                    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
                }
                file(fmt::format("net.step{}.bucket{}.rank{}.f32", step, bucket, rank), bytes);
            }
    const std::vector<Bucket> derived{{{2}, 7}, {{1}, 5}, {{0}, 20}};
    run_as_threads(3, 60, [&](World& world) {
        const Program program = repeated(program_of(net, "net", derived, 3), 2);
        Planner planner(world);
        const ProgramBuffers buffers(planner, program, std::nullopt);
        const RecordedGradients recorded(trace_file, net, world.rank());
        ASSERT_EQ(recorded.steps(), 2);
        for (int number : {0, 3}) {
            recorded.load(buffers, number);
            std::size_t at = 0;
            for (int call = 0; call < static_cast<int>(program.calls.size()); ++call) {
                if (program.calls[call].call.collective != Collective::all_reduce) continue;
                const auto input = buffers.buffers_of(call).writable_input;
                for (std::size_t i = 0; i < input.size() / sizeof(float); ++i, ++at) {
                    float value = 0;
                    std::memcpy(&value, input.data() + i * sizeof value, sizeof value);
                    EXPECT_EQ(value, 1000 * (number % 2) + 100 * (world.rank().index % 2) +
                                         static_cast<int>(at % 32));
                }
            }
            EXPECT_EQ(at, 64u);
        }
        world.barrier();
    });
}

TEST_F(Traces, ShippedAreWhatTheRecorderRecorded) {
    for (const char* name : {"mlp", "cnn"}) {
        const fs::path file = fs::path(RECORDED_TRACES) / fmt::format("{}.jsonl", name);
        EXPECT_LE(fs::file_size(file), 15000u);
        const Trace trace = read_trace(file.string());
        const auto& net = std::get<GradientTrace>(trace.what);
        EXPECT_EQ(net.recorded_ranks(), 2);
        EXPECT_EQ(net.iterations.size(), 20u);
        // PyTorch's rule gives the recorded buckets.
        std::vector<std::int64_t> counts;
        for (const Parameter& one : net.parameters) counts.push_back(one.count());
        const auto derived = buckets_of(counts, net.ready_order, Bytes{4});
        ASSERT_EQ(derived.size(), net.buckets.size());
        for (std::size_t i = 0; i < derived.size(); ++i) {
            EXPECT_EQ(derived[i].parameters, net.buckets[i].parameters);
            for (const auto& one : net.iterations)
                EXPECT_EQ(one.all_reduces.at(i).count, derived[i].count);
        }
        check(program_of(net, trace.model, net.buckets, 3));
    }
}

TEST_F(Traces, CollectedElsewhereAreReadAndReplayed) {
    for (const char* name :
         {"resnet50_ddp_2xA100.json", "resnet18_ddp_8xMI300X.json", "resnet18_1x2080Ti.json",
          "captured/mlp.rank0.json", "captured/gpt2s.rank1.json"}) {
        const auto file = shared_file(std::string("data/traces/").append(name));
        if (!file) GTEST_SKIP() << "no recorded trace " << name;
        const Trace trace = read_trace(file->string());
        const auto& net = std::get<GradientTrace>(trace.what);
        check(program_of(net, trace.model, net.buckets, 4));
        const std::string lines = to_json_lines(trace);
        EXPECT_EQ(to_json_lines(read_trace(this->file("again.jsonl", lines))), lines) << name;
    }
    const auto file = shared_file("data/traces/param/dlrm_8xV100.json");
    if (!file) GTEST_SKIP() << "no recorded trace of dlrm";
    const Trace trace = read_trace(file->string());
    const auto [program, padding] =
        program_of(std::get<OpsTrace>(trace.what), trace.model, Blocks::padded);
    check(program);
    EXPECT_EQ(program.ranks(), 8);
    EXPECT_EQ(program.calls.size(), 8u);
    // One of the five all_to_all is uneven: parts of up to 1664 elements, 3392 of each rank in all.
    EXPECT_EQ(program.calls[3].call.count, 1664);
    EXPECT_EQ(padding, 4 * 8 * (8 * 1664 - 3392));
    EXPECT_EQ(bytes_of_step(program, Rank{0}),
              24576 + 192 + 1536 + 8 * 1664 * 4 + 24576 + 1576964 + 448 + 907840);
}

}  // namespace
}  // namespace tutti
