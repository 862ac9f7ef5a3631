// SPDX-License-Identifier: Apache-2.0
// Traces of other recorders: PyTorch, PARAM, Chakra.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "tests/topology/shared_data.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

OpsProgram replayed(const std::string& typed) {
    const Trace trace = read_trace(typed);
    return program_of(std::get<OpsTrace>(trace.what), trace.model);
}

std::string refused(const std::string& typed) {
    try {
        replayed(typed);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

class ForeignTraces : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() /
                  fmt::format("tutti-traces-{}-{}", getpid(),
                              testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return (folder_ / name).string();
    }
    std::string folder() const { return folder_.string(); }

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

    fs::path folder_;
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
    EXPECT_NE(trace.note.find("1 calls that only"), std::string::npos) << trace.note;
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

TEST_F(ForeignTraces, ThatAreDamagedAreRefusedOrRead) {
    std::vector<std::pair<std::string, std::string>> originals{{"0.et", chakra_of(0)}};
    for (const char* name :
         {"et_gz/0.json.gz", "et_complex/0.json", "flight_recorder.json", "kineto_small.json",
          "param_torch_ucc_alltoall_base/0.json", "nsys_gpu_trace.csv"})
        if (const auto path = shared_file(std::string("data/cases/traces/") + name))
            originals.emplace_back(path->filename().string(), content_of(*path));
    std::mt19937 random(1);
    for (const auto& [name, original] : originals) {
        for (int trial = 0; trial < 500; ++trial) {
            std::string damaged = original;
            if (trial % 3 == 0) damaged.resize(random() % original.size());
            for (unsigned change = 0; change < 1 + random() % 4 && !damaged.empty(); ++change)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            EXPECT_EQ(refused(file(name, damaged)).find('\n'), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace tutti
