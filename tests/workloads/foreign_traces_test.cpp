// SPDX-License-Identifier: Apache-2.0
// Traces of other recorders: PyTorch, PARAM, Chakra.
#include <cstdlib>

#include "tests/topology/shared_data.hpp"
#include "tests/workloads/trace_folder.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

class ForeignTraces : public TraceFolder {
protected:
    // Writes a file again with another content.
    void change(const std::string& name, const std::string& old, const std::string& now) const {
        std::string text = content_of(folder_ / name);
        file(name, text.replace(text.find(old), old.size(), now));
    }

    // Two ranks with one call of an execution trace; `before` and `after` are inputs.
    void execution_traces(const std::string& name, const std::string& type,
                          const std::string& after = ", 0, 1, 2") const {
        for (const char* rank : {"0.json", "1.json"})
            file(rank,
                 fmt::format(
                     R"({{"schema": "1.0.1", "nodes": [{{"name": "record_param_comms", "id": 2,
 "inputs": [[[7, 8, 0, 64, 4, "cuda:0"]], 1, ["0", "default_pg"], 0, "{}", [], []{}],
 "input_types": ["GenericList[Tensor({})]"], "outputs": [[[7, 8, 0, 64, 4, "cuda:0"]]]}}]}})",
                     name, after, type));
    }
};

struct Case {
    const char* name;
    Collective collective;
    DataType type;
    std::int64_t count;
};

TEST_F(ForeignTraces, OfReportsAreReplayed) {
    using enum DataType;
    const Case cases[] = {
        {"et_broadcast_oop", Collective::broadcast, float32, 1024},
        {"et_complex", Collective::all_reduce, float32, 2048},
        {"et_gz", Collective::all_reduce, float32, 1024},
        {"et_rank_first", Collective::all_reduce, float32, 1024},
        {"et_signed_char", Collective::all_reduce, int8, 1024},
        {"et_torch20_7_inputs", Collective::all_reduce, float32, 1024},
        {"et_torch_async_flag_11_inputs", Collective::all_reduce, float32, 1024},
        {"et_uint64", Collective::all_reduce, uint64, 1024},
        {"et_unsigned_short", Collective::all_reduce, uint16, 1024},
        {"et_with_mac_files", Collective::all_reduce, float32, 1024},
        {"param_torch_ucc_alltoall_base", Collective::all_to_all, int32, 1024},
        {"flight_recorder.json", Collective::all_reduce, float32, 12},
        {"kineto_small.json", Collective::all_reduce, float32, 1024},
    };
    for (const Case& one : cases) {
        const auto path = shared_file(std::string("data/cases/traces/") + one.name);
        if (!path) GTEST_SKIP() << "no trace " << one.name;
        SCOPED_TRACE(one.name);
        const auto [program, padding] = replayed(path->string());
        check(program);
        EXPECT_EQ(program.ranks(), 2);
        ASSERT_EQ(program.calls.size(), 1u);
        EXPECT_EQ(program.calls[0].call.collective, one.collective);
        EXPECT_EQ(program.calls[0].call.type, one.type);
        EXPECT_EQ(program.calls[0].call.count, one.count);
        EXPECT_EQ(padding, 0);
    }
}

TEST_F(ForeignTraces, ThatCannotBeReplayedSayWhy) {
    for (const auto& [name, key] : {std::pair{"et_broken_missing_comma", "0.json:"},
                                    {"et_cut_in_string", "0.json:"},
                                    {"nsys_gpu_trace.csv", "1 kernels"}}) {
        const auto path = shared_file(std::string("data/cases/traces/") + name);
        if (!path) GTEST_SKIP() << "no trace " << name;
        EXPECT_NE(refused(path->string()).find(key), std::string::npos) << refused(path->string());
    }
    EXPECT_NE(refused(file("a.bin", "\x80\x04\x95")).find("pickle"), std::string::npos);
    EXPECT_NE(refused(file("b.db", "SQLite format 3")).find("SQLite"), std::string::npos);
}

TEST_F(ForeignTraces, NameOperationsAsPyTorchAndParamDo) {
    const std::pair<const char*, Collective> names[] = {
        {"_allgather_base", Collective::all_gather},
        {"all_gather_into_tensor_coalesced", Collective::all_gather},
        {"_reduce_scatter_base", Collective::reduce_scatter},
        {"reduce_scatter_tensor", Collective::reduce_scatter},
        {"_reduce_oop", Collective::reduce},
        {"ALLTOALL_BASE", Collective::all_to_all},
        {"all_to_all_single", Collective::all_to_all},
        {"nccl:all_reduce", Collective::all_reduce},
        {"allreduce_coalesced", Collective::all_reduce},
    };
    for (const auto& [name, collective] : names) {
        SCOPED_TRACE(name);
        execution_traces(name, "float");
        const auto program = replayed(folder()).program;
        ASSERT_EQ(program.calls.size(), 1u);
        EXPECT_EQ(program.calls[0].call.collective, collective);
    }
}

TEST_F(ForeignTraces, NameTypesAsPyTorchDoes) {
    using enum DataType;
    const std::pair<const char*, DataType> names[] = {
        {"unsigned int", uint32},
        {"unsigned long long", uint64},
        {"c10::BFloat16", bfloat16},
        {"c10::Float8_e4m3fn", fp8_e4m3},
        {"c10::Float8_e4m3fnuz", fp8_e4m3},
        {"c10::Float8_e5m2fnuz", fp8_e5m2},
        {"c10::complex<double>", float64},
        {"ComplexHalf", half},
        {"long long", int64},
        {"bool", uint8},
    };
    for (const auto& [name, type] : names) {
        SCOPED_TRACE(name);
        execution_traces("allreduce", name);
        const auto program = replayed(folder()).program;
        EXPECT_EQ(program.calls.at(0).call.type, type);
        const bool is_complex = std::string_view(name).find("omplex") != std::string_view::npos;
        EXPECT_EQ(program.calls.at(0).call.count, is_complex ? 128 : 64);
    }
}

TEST_F(ForeignTraces, FindTheNameAmongAnyNumberOfInputs) {
    for (const char* after : {"", ", 0", ", 0, 1, 2, true", R"(, 0, 1, 2, "default", true, 7)"}) {
        execution_traces("allreduce", "float", after);
        EXPECT_EQ(replayed(folder()).program.calls.size(), 1u) << after;
    }
}

TEST_F(ForeignTraces, CountWhatIsLeftOut) {
    execution_traces("allreduce_sparse", "float");
    EXPECT_NE(refused(folder()).find("2 calls of 'allreduce_sparse'"), std::string::npos);
    execution_traces("allreduce", "c10::Strange");
    EXPECT_NE(refused(folder()).find("c10::Strange"), std::string::npos) << refused(folder());
}

TEST_F(ForeignTraces, TakeRanksFromTheContentBeforeTheName) {
    constexpr const char* profile =
        R"({{"distributedInfo": {{"rank": {}, "world_size": 2}}, "traceEvents": [
 {{"cat": "cpu_op", "name": "record_param_comms", "ts": 10.5, "args": {{"Collective name": "broadcast",
  "In msg nelems": {}, "Out msg nelems": {}, "dtype": "Float", "Process Group Ranks": "[0, 1]", "Group size": 2}}}},
 {{"cat": "cpu_op", "name": "record_param_comms", "ts": 30.5, "args": {{"Collective name": "_allgather_base",
  "In msg nelems": 4, "Out msg nelems": 8, "dtype": "Half", "Group size": 2}}}}]}})";
    file("a0.json", fmt::format(profile, 1, 5, 5));
    file("b1.json", fmt::format(profile, 0, 5, 5));
    file("notes.json", R"({"author": "me"})");
    const Trace trace = read_trace(folder());
    EXPECT_NE(trace.note.find("1 files"), std::string::npos) << trace.note;
    const auto& ranks = std::get<OpsTrace>(trace.what).ranks;
    EXPECT_NE(ranks.at(0).at(0).place.find("b1.json"), std::string::npos);
    const auto program = replayed(folder()).program;
    ASSERT_EQ(program.calls.size(), 2u);
    EXPECT_EQ(program.calls[1].call.count, 4);
    EXPECT_EQ(ranks.at(0).at(1).compute_ns, 20'000);
    // The word "rank" in a name goes before other numbers.
    fs::remove(folder_ / "notes.json");
    fs::rename(folder_ / "a0.json", folder_ / "rank1.7.json");
    fs::rename(folder_ / "b1.json", folder_ / "rank0.7.json");
    for (const char* name : {"rank1.7.json", "rank0.7.json"})
        file(name, std::string(content_of(folder_ / name)).replace(2, 15, "otherwise_named"));
    EXPECT_NE(std::get<OpsTrace>(read_trace(folder()).what).ranks[0][0].place.find("rank0"),
              std::string::npos);
}

TEST_F(ForeignTraces, OfOneRankStandForAll) {
    const std::string one = file("p.json", R"({"distributedInfo": {"rank": 1, "world_size": 4},
 "traceEvents": [{"cat": "kernel", "name": "n", "ts": 1, "args": {"Collective name": "all_to_allv", "In msg nelems": 10,
  "Out msg nelems": 10, "dtype": "Int", "In split size": "[1, 2, 3, 4]", "Out split size": "[4, 3, 2, 1]", "Group size": 4}},
 {"cat": "kernel", "name": "n", "ts": 2, "args": {"Collective name": "allreduce", "In msg nelems": 3,
  "Out msg nelems": 3, "dtype": "Int", "Process Group Ranks": "[0, 1]", "Group size": 2}}]})");
    const Trace trace = read_trace(one);
    EXPECT_NE(trace.note.find("1 calls that were"), std::string::npos) << trace.note;
    const auto program = replayed(one).program;
    EXPECT_EQ(program.ranks(), 4);
    ASSERT_EQ(program.calls.size(), 1u);
    EXPECT_EQ(program.calls[0].call.count, 4);
}

// Writes protobuf's wire format.
std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
}
std::string number(std::uint64_t field, std::uint64_t value) {
    return varint(field << 3) + varint(value);
}
std::string text(std::uint64_t field, const std::string& value) {
    return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string attribute(const std::string& name, std::uint64_t field, std::uint64_t value) {
    return text(10, text(1, name) + number(field, value));
}
std::string message(const std::string& bytes) { return varint(bytes.size()) + bytes; }

// A rank that computes 7 us, sums 4,000 bytes, and sends to or receives from the other.
std::string chakra_of(int rank) {
    const std::string head = message(text(1, "0.0.4"));
    const std::string sum = number(1, 9) + text(2, "sum") + number(3, 7) + text(5, varint(5)) +
                            attribute("comm_type", 9, 0) + attribute("comm_size", 9, 4000);
    const std::string compute = number(1, 5) + text(2, "compute") + number(3, 4) + number(7, 7);
    const std::string pair = number(1, 11) + text(2, "pair") + number(3, rank == 0 ? 5 : 6) +
                             number(4, 9) +
                             attribute(rank == 0 ? "comm_dst" : "comm_src", 7, 1 - rank) +
                             attribute("comm_size", 13, 10);
    return head + message(sum) + message(compute) + message(pair);
}

TEST_F(ForeignTraces, OfChakraKeepDependencies) {
    for (int rank : {0, 1}) file(fmt::format("net.{}.et", rank), chakra_of(rank));
    const Trace trace = read_trace(folder());
    const auto& ops = std::get<OpsTrace>(trace.what).ranks.at(0);
    ASSERT_EQ(ops.size(), 3u);
    EXPECT_EQ(ops[0].compute_ns, 7000);
    EXPECT_EQ(ops[1].count, 1000);
    EXPECT_EQ(ops[1].after, std::vector<std::int64_t>{ops[0].id});
    EXPECT_EQ(ops[2].kind, TraceOp::Kind::send);
    EXPECT_EQ(ops[2].type, DataType::uint8);
    EXPECT_EQ(ops[2].peer, Rank{1});
    check(replayed(folder()).program);
}

// Returns the calls and tasks of a program as text.
std::string describe(const Program& program) {
    std::string text = fmt::format("{} ranks", program.ranks());
    for (const GroupCall& call : program.calls)
        text += fmt::format(", {} {} {} {}", call.label, call.group, call.call.count,
                            name_of(call.call.type));
    for (const auto& tasks : program.tasks) text += fmt::format(", {} tasks", tasks.size());
    return text;
}

// Replaces '%' by the rank.
std::string of_rank(std::string text, int rank) {
    std::ranges::replace(text, '%', static_cast<char>('0' + rank));
    return text;
}

// The same trace as Chakra's jsonizer writes it: documents one after the other, names in camel
// case.
constexpr const char* jsonized =
    R"({
  "version": "0.0.4",
  "attr": [{"name": "schema", "stringVal": "1.0 {"}]
}{
  "id": "9", "name": "sum", "type": "COMM_COLL_NODE", "dataDeps": ["5"],
  "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "4000"},
           {"name": "pg_name", "stringVal": "7"}, {"name": "is_cpu_op", "boolVal": false}]
}{
  "id": "5", "name": "compute \"}", "type": "COMP_NODE", "durationMicros": "7"
}{
  "name": "nothing"
})";

TEST_F(ForeignTraces, OfChakrasJsonizerAreRead) {
    for (const char* name : {"0.json", "1.json"}) file(name, jsonized);
    const auto expect_read = [&] {
        const Trace trace = read_trace(folder());
        const auto& ops = std::get<OpsTrace>(trace.what).ranks.at(1);
        ASSERT_EQ(ops.size(), 2u);
        EXPECT_EQ(ops[0].compute_ns, 7000);
        EXPECT_EQ(ops[1].count, 1000);
        EXPECT_EQ(ops[1].after, std::vector<std::int64_t>{ops[0].id});
    };
    expect_read();
    for (const char* name : {"0.json", "1.json"}) {
        std::string list = jsonized;
        for (std::size_t at = 0; (at = list.find("}{", at)) != list.npos;)
            list.replace(at, 2, "}, {");
        file(name, "[" + list + "]");
    }
    expect_read();
    for (const char* name : {"0.json", "1.json"}) change(name, "dataDeps", "data_deps");
    expect_read();
    file("1.json", std::string(jsonized).substr(0, 250));
    EXPECT_NE(refused(folder()).find("1.json:"), std::string::npos);
    EXPECT_NE(refused(folder()).find("cut off"), std::string::npos);
}

TEST_F(ForeignTraces, OfChakraTakeGroupsFromAFileNextToThem) {
    for (const char* name : {"w.0.json", "w.1.json", "w.2.json"}) file(name, jsonized);
    change("w.2.json", "COMM_COLL_NODE", "METADATA_NODE");
    EXPECT_EQ(replayed(folder()).program.groups.at(1), (std::vector<Rank>{{0}, {1}}));
    file("w.json", R"({"7": [1, 0], "8": [2]})");
    EXPECT_EQ(replayed(folder()).program.groups.at(1), (std::vector<Rank>{{0}, {1}}));
    EXPECT_EQ(read_trace(folder()).note.find("not traces"), std::string::npos);
    const std::string list =
        fmt::format("{0}/w.0.json,{0}/w.1.json,{0}/w.2.json,{0}/w.json", folder());
    EXPECT_EQ(replayed(list).program.ranks(), 3);
    file("w.json", R"({"7": [0, 2]})");
    EXPECT_NE(refused(folder()).find("rank 1"), std::string::npos);
    EXPECT_NE(refused(list).find("rank 1"), std::string::npos);
}

constexpr const char* events =
    R"([{"name": "other", "ph": "M"}, {"ph": "X", "cat": "cpu_op", "ts": 3, "args": {"Collective name": "allreduce",
 "In msg nelems": 6, "Out msg nelems": 6, "dtype": "Half", "Group size": 2}}])";

TEST_F(ForeignTraces, OfTheProfilerMayBeAListOfEvents) {
    for (const char* name : {"rank1.json", "rank0.json"}) file(name, events);
    const auto program = replayed(folder()).program;
    ASSERT_EQ(program.calls.size(), 1u);
    EXPECT_EQ(program.calls[0].call.count, 6);
    EXPECT_EQ(program.calls[0].call.type, DataType::half);
}

constexpr const char* flight =
    R"({"version": "2.3", "rank": %, "entries": [{"profiling_name": "nccl:broadcast", "input_sizes": [[3, 4]],
 "output_sizes": [[3, 4]], "input_dtypes": ["Float"], "time_created_ns": 10}]})";

TEST_F(ForeignTraces, OfFlightRecordersNameTheirRank) {
    file("0.json", of_rank(flight, 1));
    file("1.json", of_rank(flight, 0));
    const std::string list = fmt::format("{0}/0.json,{0}/1.json", folder());
    for (const std::string& typed : {folder(), list})
        EXPECT_NE(ops(typed).ranks.at(0).at(0).place.find("1.json"), std::string::npos) << typed;
    // The files of one host of several.
    file("0.json", of_rank(flight, 2));
    file("1.json", of_rank(flight, 3));
    for (const std::string& typed : {folder(), list})
        EXPECT_NE(refused(typed).find("rank 0 is missing"), std::string::npos) << refused(typed);
    // Numbers that do not tell ranks apart are none.
    file("1.json", of_rank(flight, 2));
    EXPECT_EQ(replayed(folder()).program.ranks(), 2);
}

TEST_F(ForeignTraces, LieAmongForeignFiles) {
    execution_traces("allreduce", "float");
    file("readme.json", "not a trace");
    file("settings.json", R"({"learning_rate": 0.1})");
    file("list.json", "[1, 2]");
    file("._0.json", "\x05\x16\x07");
    file("notes.txt", "{");
    // Lines of other processes have torn those of NCCL, and another program logs events.
    file("job.out", fmt::format("n:1:2 [0] NCCL INFO comm 0x1 rank - Init START\n{}\n", "epoch 1"));
    file("other.log", "{\"event\": \"begin\"}\n{\"event\": \"end\"}\n");
    fs::create_directory(folder_ / "logs.json");
    const Trace trace = read_trace(folder());
    EXPECT_EQ(std::get<OpsTrace>(trace.what).ranks.size(), 2u);
    EXPECT_NE(trace.note.find("4 files"), std::string::npos) << trace.note;
    file("2.json", "");
    EXPECT_NE(refused(folder()).find("2.json"), std::string::npos);
    file("2.json", "{\"nodes\": [");
    EXPECT_NE(refused(folder()).find("2.json"), std::string::npos);
}

TEST_F(ForeignTraces, MayBeginWithTheCodeOfABracket) {
    // The length of the first message is a '{', '[', line end or blank.
    for (const std::size_t length : {'{', '[', '\n', '\r', ' '}) {
        for (int rank : {0, 1}) {
            std::string version = text(1, "0.0.4");
            version += text(3, std::string(length - version.size() - 2, '"'));
            file(fmt::format("net.{}.et", rank),
                 message(version) + chakra_of(rank).substr(message(text(1, "0.0.4")).size()));
        }
        EXPECT_EQ(refused(folder()), "") << length;
    }
    for (int rank : {0, 1}) file(fmt::format("net.{}.et", rank), jsonized);
    EXPECT_EQ(refused(folder()), "");
}

TEST_F(ForeignTraces, OfEachKindMayBeCompressed) {
    if (std::system("gzip --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no gzip";
    execution_traces("allreduce", "float");
    const std::string execution_trace = content_of(folder_ / "0.json");
    const std::string param =
        R"([{"comms": "all_reduce", "in_msg_size": 4, "out_msg_size": 4, "dtype": "Float"}])";
    const std::string ours = R"({"schema": "gradtrace/1", "model": "m", "kind": "ops", "world": 1,
 "ops": [{"rank": 0, "op": "allreduce", "count": 3}]})";
    const std::string lines =
        R"({"schema": "gradtrace/1", "model": "m", "kind": "ops", "world": 1, "form": "lines"}
{"line": "op", "rank": 0, "op": "allreduce", "count": 3}
{"line": "end", "lines": 3}
)";
    const std::pair<const char*, std::string> kinds[] = {
        {"%.json", execution_trace}, {"%.json", param},    {"%.json", events},
        {"%.json", flight},          {"%.json", jsonized}, {"%.et", "chakra"},
    };
    for (const auto& [name, content] : kinds) {
        SCOPED_TRACE(content.substr(0, 60));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        for (int rank : {0, 1}) {
            const bool is_chakra = content == "chakra";
            file(of_rank(name, rank), is_chakra ? chakra_of(rank) : of_rank(content, rank));
        }
        const std::string plain = describe(replayed(folder()).program);
        ASSERT_EQ(std::system(fmt::format("gzip {}/*", folder()).c_str()), 0);
        EXPECT_EQ(describe(replayed(folder()).program), plain);
    }
    for (const std::string& content : {ours, lines}) {
        const std::string path = file("t.jsonl", content);
        const std::string plain = describe(replayed(path).program);
        ASSERT_EQ(std::system(fmt::format("gzip -f {}", path).c_str()), 0);
        EXPECT_EQ(describe(replayed(path + ".gz").program), plain);
    }
}

TEST_F(ForeignTraces, MayBeInUtf16) {
    std::string wide = "\xff\xfe";
    for (const char* c = jsonized; *c != '\0'; ++c) wide += {*c, '\0'};
    for (const char* name : {"0.json", "1.json"}) file(name, wide);
    EXPECT_EQ(replayed(folder()).program.ranks(), 2);
}

TEST_F(ForeignTraces, ThatAreDamagedAreRefusedOrRead) {
    std::vector<std::pair<std::string, std::string>> originals{{"0.et", chakra_of(0)},
                                                               {"jsonized.json", jsonized},
                                                               {"events.json", events},
                                                               {"flight.json", of_rank(flight, 0)},
                                                               {"groups.json", R"({"7": [0]})"}};
    for (const char* name :
         {"et_gz/0.json.gz", "et_complex/0.json", "flight_recorder.json", "kineto_small.json",
          "param_torch_ucc_alltoall_base/0.json", "nsys_gpu_trace.csv"})
        if (const auto path = shared_file(std::string("data/cases/traces/") + name))
            originals.emplace_back(path->filename().string(), content_of(*path));
    for (const auto& [name, original] : originals)
        for_each_damaged(name, original, 500, 1, [](const std::string& typed) {
            EXPECT_EQ(refused(typed).find('\n'), std::string::npos);
        });
}

}  // namespace
}  // namespace tutti
