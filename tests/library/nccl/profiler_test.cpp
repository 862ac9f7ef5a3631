// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "collectives/baselines/tutti_nccl.h"
#include "host.hpp"

namespace {

using nlohmann::json;

constexpr int kernel_channel_stop = 22;

// The file of the whole process, as the plugin reads the variable once.
const std::string& file_of_calls() {
    static const std::string file = [] {
        std::string name = (std::filesystem::temp_directory_path() / "tutti-calls-XXXXXX").string();
        close(mkstemp(name.data()));
        setenv("TUTTI_NCCL_CALLS", name.c_str(), 1);
        return name;
    }();
    return file;
}

class EndOfFile : public testing::Environment {
    void TearDown() override { std::filesystem::remove(file_of_calls()); }
};
[[maybe_unused]] const auto* const end_of_file = testing::AddGlobalTestEnvironment(new EndOfFile);

std::string in_hexadecimal(std::uint64_t number) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
    return text;
}

// The lines of a communicator, every one of which is whole.
std::vector<json> lines_of(std::uint64_t communicator) {
    std::vector<json> lines;
    std::ifstream stream(file_of_calls());
    for (std::string line; std::getline(stream, line);)
        if (json one = json::parse(line); one["communicator"] == in_hexadecimal(communicator))
            lines.push_back(std::move(one));
    return lines;
}

std::vector<tutti_nccl_call> calls_of(std::uint64_t communicator) {
    auto* const get = nccl_host::symbol<tutti_nccl_calls_function>("tutti_nccl_calls");
    std::vector<tutti_nccl_call> all(2048), found;
    all.resize(get(0, all.data(), all.size()));
    for (const auto& call : all)
        if (call.communicator == communicator) found.push_back(call);
    return found;
}

// Calls a version of the profiler as NCCL's host thread and its proxy thread do.
template <class Symbol, int version>
class ProfilerOfTest {
public:
    using Event = typename Symbol::EventType;

    explicit ProfilerOfTest(std::uint64_t communicator, int ranks = 4, int rank = 1,
                            const char* name = nullptr)
        : profiler_(nccl_host::symbol<const Symbol>(
              ("ncclProfiler_v" + std::to_string(version)).c_str())) {
        file_of_calls();
        int mask = 0;
        if constexpr (version == 4)
            EXPECT_EQ(profiler_->init(&context_, &mask, name, communicator, 2, ranks, rank,
                                      nccl_host::log),
                      0);
        else
            EXPECT_EQ(profiler_->init(&context_, communicator, &mask, name, 2, ranks, rank,
                                      nccl_host::log),
                      0);
        EXPECT_EQ(mask, 2 | 64);
    }
    ~ProfilerOfTest() { EXPECT_EQ(profiler_->finalize(context_), 0); }

    // NCCL does not set what a version's event does not have.
    Event event(unsigned type) const {
        Event made;
        std::memset(static_cast<void*>(&made), 0xee, sizeof made);
        made.type = static_cast<decltype(made.type)>(type);
        made.parentObj = nullptr;
        return made;
    }

    void* start(Event event) const {
        void* handle = context_;  // not null: the plugin must set it
        EXPECT_EQ(profiler_->startEvent(context_, &handle, &event), 0);
        return handle;
    }

    // An event that the mask does not have, as NCCL starts them anyway.
    void start_other(unsigned type) const { EXPECT_EQ(start(event(type)), nullptr); }

    void* begin(const char* collective, std::size_t count, int channels, const char* algorithm,
                const char* protocol, const char* type = "ncclFloat32") const {
        if constexpr (version > 4)
            for (const unsigned other : {256U, 512U, 1U}) start_other(other);
        Event call = event(2);
        call.coll.seqNumber = 17;
        call.coll.func = collective;
        call.coll.count = count;
        call.coll.datatype = type;
        call.coll.nChannels = static_cast<std::uint8_t>(channels);
        call.coll.algo = algorithm;
        call.coll.proto = protocol;
        void* const handle = start(call);
        EXPECT_NE(handle, nullptr);
        EXPECT_EQ(profiler_->stopEvent(handle), 0);
        return handle;
    }

    void* start_channel(void* call, int channel, std::uint64_t time) const {
        Event started = event(64);
        started.parentObj = call;
        started.kernelCh.channelId = static_cast<std::uint8_t>(channel);
        started.kernelCh.pTimer = time;
        return start(started);
    }

    void stop_channel(void* channel, std::uint64_t time) const {
        nccl_host::StateArgs values{.pTimer = time};
        EXPECT_EQ(profiler_->recordEventState(channel, kernel_channel_stop, &values), 0);
        EXPECT_EQ(profiler_->stopEvent(channel), 0);
    }

    const Symbol* symbol() const { return profiler_; }

private:
    const Symbol* profiler_;
    void* context_ = nullptr;
};
using V4 = ProfilerOfTest<nccl_host::ProfilerV4, 4>;
using V5 = ProfilerOfTest<nccl_host::ProfilerV5<nccl_host::EventV5>, 5>;
using V6 = ProfilerOfTest<nccl_host::ProfilerV5<nccl_host::EventV5>, 6>;
using V7 = ProfilerOfTest<nccl_host::ProfilerV5<nccl_host::EventV7>, 7>;

std::uint64_t next_communicator() {
    static std::uint64_t number = 0xabcd000000000000;
    return ++number;
}

template <class Profiler>
class NcclProfiler : public testing::Test {};
using Versions = testing::Types<V4, V5, V6, V7>;
TYPED_TEST_SUITE(NcclProfiler, Versions);

TYPED_TEST(NcclProfiler, RecordsWhatRanAndItsTimeOnTheGpu) {
    const std::uint64_t communicator = next_communicator();
    {
        const TypeParam profiler(communicator, 4, 1, "the \"name\"");
        void* const call = profiler.begin("AllReduce", 1000, 2, "NVLS_TREE", "SIMPLE");
        void* const second = profiler.start_channel(call, 1, 5000);
        void* const first = profiler.start_channel(call, 0, 4900);
        profiler.stop_channel(first, 5700);
        profiler.stop_channel(second, 6000);
        profiler.begin("AllGather", 10, 1, "RING", "LL128", "ncclBfloat16");
    }
    const auto calls = calls_of(communicator);
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_STREQ(calls[0].collective, "all_reduce");
    EXPECT_STREQ(calls[0].type, "float");
    EXPECT_STREQ(calls[0].algorithm, "nvls-tree");
    EXPECT_STREQ(calls[0].protocol, "simple");
    EXPECT_EQ(calls[0].sequence, 17U);
    EXPECT_EQ(calls[0].count, 1000U);
    EXPECT_EQ(calls[0].rank, 1);
    EXPECT_EQ(calls[0].ranks, 4);
    EXPECT_EQ(calls[0].channels, 2);
    EXPECT_EQ(calls[0].ended_channels, 2);
    EXPECT_EQ(calls[0].gpu_start, 4900U);
    EXPECT_EQ(calls[0].gpu_ns, 1100U);
    EXPECT_EQ(calls[1].gpu_ns, 0U);
    EXPECT_EQ(calls[1].id, calls[0].id + 1);

    const auto lines = lines_of(communicator);
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0]["event"], "communicator");
    EXPECT_EQ(lines[0]["name"], "the \"name\"");
    EXPECT_EQ(lines[0]["ranks"], 4);
    EXPECT_EQ(lines[0]["hosts"], 2);
    EXPECT_EQ(lines[0]["pid"], getpid());
    const json call = json::parse(R"({"event": "call", "rank": 1, "sequence": 17,
        "collective": "all_reduce", "type": "float", "count": 1000, "bytes": 4000,
        "algorithm": "nvls-tree", "protocol": "simple", "channels": 2})");
    for (const auto& [name, value] : call.items()) EXPECT_EQ(lines[1][name], value) << name;
    EXPECT_EQ(lines[1]["id"], calls[0].id);
    EXPECT_GE(lines[1]["unix_ns"].get<std::int64_t>(), lines[0]["unix_ns"].get<std::int64_t>());
    const json done = json::parse(R"({"event": "done", "rank": 1, "gpu_start": 4900,
        "gpu_ns": 1100, "channel_ns": [800, 1000]})");
    for (const auto& [name, value] : done.items()) EXPECT_EQ(lines[2][name], value) << name;
    EXPECT_EQ(lines[2]["id"], calls[0].id);
    EXPECT_EQ(lines[3]["bytes"], 10 * 2 * 4);
    EXPECT_EQ(lines[3]["type"], "bfloat16");
}

TYPED_TEST(NcclProfiler, IgnoresEventsThatItDidNotAskFor) {
    const std::uint64_t communicator = next_communicator();
    const TypeParam profiler(communicator);
    for (const unsigned type : {1U, 4U, 8U, 16U, 32U, 128U}) profiler.start_other(type);
    // The kernel of a message between two ranks has no call that was recorded.
    EXPECT_EQ(profiler.start_channel(nullptr, 0, 5), nullptr);
    for (const int state : {19, 21, 23, 24, 25})
        EXPECT_EQ(profiler.symbol()->recordEventState(nullptr, state, nullptr), 0);
    EXPECT_EQ(profiler.symbol()->stopEvent(nullptr), 0);
    EXPECT_TRUE(calls_of(communicator).empty());
}

TYPED_TEST(NcclProfiler, KeepsNamesThatItDoesNotKnow) {
    const std::uint64_t communicator = next_communicator();
    const TypeParam profiler(communicator);
    profiler.begin("All\"ToSome", 1, 1, nullptr, "LL\n256", nullptr);
    const auto calls = calls_of(communicator);
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_STREQ(calls[0].collective, "all-tosome");
    EXPECT_STREQ(calls[0].algorithm, "");
    EXPECT_STREQ(calls[0].protocol, "ll-256");
    EXPECT_EQ(lines_of(communicator).back()["bytes"], 0);
}

TEST(NcclProfilerLog, IgnoresKernelsOfCallsThatItNoLongerKeeps) {
    const std::uint64_t communicator = next_communicator();
    const V6 profiler(communicator);
    void* const late = profiler.begin("AllReduce", 1, 1, "RING", "LL");
    void* const channel = profiler.start_channel(late, 0, 100);
    for (int i = 0; i < 1024; ++i) profiler.begin("Broadcast", 1, 1, "RING", "LL");
    profiler.stop_channel(channel, 200);
    profiler.stop_channel(profiler.start_channel(late, 0, 300), 400);
    const auto calls = calls_of(communicator);
    EXPECT_EQ(calls.size(), 1024U);
    for (const auto& call : calls) EXPECT_EQ(call.ended_channels, 0);
}

TEST(NcclProfilerLog, ReturnsTheCallsAfterAnId) {
    const std::uint64_t communicator = next_communicator();
    const V6 profiler(communicator);
    for (int i = 0; i < 3; ++i) profiler.begin("Broadcast", 1, 1, "RING", "LL");
    auto* const get = nccl_host::symbol<tutti_nccl_calls_function>("tutti_nccl_calls");
    const auto calls = calls_of(communicator);
    std::array<tutti_nccl_call, 3> some{};
    EXPECT_EQ(get(calls[1].id, some.data(), some.size()), 1U);
    EXPECT_EQ(some[0].id, calls[2].id);
    EXPECT_EQ(get(calls[2].id, some.data(), some.size()), 0U);
    EXPECT_EQ(get(calls[0].id - 1, some.data(), 2), 2U);
    EXPECT_EQ(some[1].id, calls[1].id);
}

TEST(NcclProfilerLog, TakesEventsOfSeveralThreads) {
    constexpr int threads = 4, calls_each = 500;
    std::vector<std::uint64_t> communicators;
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
        communicators.push_back(next_communicator());
        running.emplace_back([communicator = communicators.back()] {
            const V6 profiler(communicator);
            for (int i = 0; i < calls_each; ++i) {
                void* const call = profiler.begin("AllReduce", 1, 1, "TREE", "LL");
                profiler.stop_channel(profiler.start_channel(call, 3, 1000), 1010);
            }
        });
    }
    for (std::thread& thread : running) thread.join();
    std::set<std::uint64_t> ids;
    for (const std::uint64_t communicator : communicators) {
        int done = 0;
        for (const json& line : lines_of(communicator)) {
            if (line["event"] == "call") {
                EXPECT_TRUE(ids.insert(line["id"].get<std::uint64_t>()).second);
            }
            if (line["event"] != "done") continue;
            EXPECT_EQ(line["gpu_ns"], 10);
            ++done;
        }
        EXPECT_EQ(done, calls_each);
    }
    EXPECT_EQ(ids.size(), std::size_t{threads * calls_each});
}

TEST(NcclProfilerLog, CanBeReadAfterACrash) {
    const std::uint64_t communicator = next_communicator();
    file_of_calls();
    const pid_t child = fork();
    if (child == 0) {
        const V6 profiler(communicator);
        void* const call = profiler.begin("AllReduce", 1, 2, "TREE", "LL");
        profiler.stop_channel(profiler.start_channel(call, 0, 1000), 1010);
        profiler.start_channel(call, 1, 1001);
        raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto lines = lines_of(communicator);
    ASSERT_EQ(lines.size(), 2U);  // it began and did not end
    EXPECT_EQ(lines[1]["algorithm"], "tree");
}

TEST(NcclProfilerDeathTest, WorksWithoutTheFile) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            file_of_calls();
            setenv("TUTTI_NCCL_CALLS", "/nowhere/calls.jsonl", 1);
            const std::uint64_t communicator = next_communicator();
            const V6 profiler(communicator);
            profiler.begin("AllReduce", 1, 1, "TREE", "LL");
            const bool is_said = nccl_host::logged.size() == 1 && nccl_host::logged[0].level == 2;
            std::_Exit(is_said && calls_of(communicator).size() == 1 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
