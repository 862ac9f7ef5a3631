// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "samples.hpp"

namespace tutti {
namespace {

template <class Kind>
void expect_round_trip(const Kind& record) {
    const std::string line = to_json_line(record);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(line.starts_with(R"({"v":1,"kind":")")) << line;
    EXPECT_EQ(std::get<Kind>(parse_json_line(line)), record) << line;
}

std::string complaint_about_line(std::string_view line) {
    try {
        parse_json_line(line);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Exit::usage);
        return error.what();
    }
    return "none";
}

}  // namespace

TEST(Records, ComeBackAsTheyWereWritten) {
    Session session;
    session.id = "i";
    session.t = "2026-01-31T12:00:00.000Z";
    session.tool = {.version = "0.1.0", .git = "abc", .dirty = true};
    session.argv = {"tutti", "bench", "a \"b\"\n"};
    session.seed = ~std::uint64_t{0};
    session.plan = {{"order", "random"}};
    session.resume_of = "h";
    expect_round_trip(session);
    expect_round_trip(Session{});
    expect_round_trip(sample_point());
    expect_round_trip(skipped_point());
    expect_round_trip(Fail{.launch = 3,
                           .point = "0123456789abcdef",
                           .phase = "measure",
                           .what = "signal",
                           .rank = Rank{0},
                           .signal = 11,
                           .stderr_tail = "a\tb"});
    expect_round_trip(Fail{});
    expect_round_trip(sample_limits());
    expect_round_trip(Limits{});
    expect_round_trip(End{.session = "s",
                          .ok = false,
                          .wall_ns = 12,
                          .health = {{"n0", {{"steal_pct", 3.5, "", "the hypervisor took 4 %"}}},
                                     {"n1", {{"link_errors", 2, "eth0", "eth0: 2 frames"}}}}});
    expect_round_trip(Pair{.session = "s",
                           .launch = 3,
                           .stage = 2,
                           .metric = "all_reduce",
                           .seen = {.change = 0.5, .noise_a = -0.25, .a_ns = 10, .quads = {0.5}}});
    expect_round_trip(VerdictRecord{.session = "s",
                                    .metric = "all_reduce",
                                    .verdict = Change::slower,
                                    .ratio = 1.5,
                                    .low = 1.25,
                                    .high = 1.75,
                                    .p = 0.125,
                                    .launches = 12,
                                    .rule = "why",
                                    .nranks = 4,
                                    .method = Pairing::stored,
                                    .ignored = {"cores: A has 4, B has 8"}});
    expect_round_trip(StepGrowth{.session = "s",
                                 .metric = "all_reduce",
                                 .launches = 5,
                                 .a_ns = {1.5, 2},
                                 .b_ns = {1.5, 3},
                                 .grew_ns = {0, 1}});
    expect_round_trip(Numerics{.session = "s",
                               .launch = 2,
                               .key = sample_point().key,
                               .elements = 256,
                               .of = {{.draw = Draw::cancelling,
                                       .max_ulp = 1.5,
                                       .ranks_agree = false,
                                       .checksum = "0123456789abcdef"},
                                      {.draw = Draw::wide, .runs_agree = false}}});
    expect_round_trip(Numerics{});
    expect_round_trip(
        LowerLimits{.session = "s", .launch = 2, .limit_ns = {{"0123456789abcdef", 107.5}}});
    expect_round_trip(FloorRecord{.session = "s",
                                  .asked = "all_reduce 1M busbw at least 20 GB/s",
                                  .metric = "all_reduce 1M",
                                  .metrics = 3,
                                  .value = 18.5,
                                  .bound = 20,
                                  .unit = "GB/s",
                                  .met = false});
}

TEST(Records, AKeyNamesRadixAndChannelsUnlessDefault) {
    Point point = sample_point();
    EXPECT_EQ(to_json_line(point).find("radix"), std::string::npos);
    EXPECT_EQ(to_json_line(point).find("channels"), std::string::npos);
    point.key.configuration.radix = 4;
    point.key.configuration.channels = 2;
    EXPECT_NE(to_json_line(point).find(R"("radix":4)"), std::string::npos);
    EXPECT_NE(to_json_line(point).find(R"("channels":2)"), std::string::npos);
    expect_round_trip(point);
}

TEST(Records, ALaunchDescribesHostsRanksAndLibraries) {
    expect_round_trip(Launch{
        .session = "s",
        .launch = 4,
        .t = "2026-01-31T12:00:00.000Z",
        .argv = {"mpirun", "-np", "2"},
        .nranks = 2,
        .ppn = 1,
        .hosts = {{.name = "n0", .kernel = "6.1", .cores = 2, .mem = {1 << 30}, .loadavg1 = 0.25},
                  {.name = "n1", .virt = "kvm"}},
        .topo_sha256 = "both",
        .ranks = {{.rank = Rank{0}, .host = "n0", .pid = 77, .numa = 0},
                  {.rank = Rank{1}, .host = "n1", .pid = 78}},
        .mpi = Library{.vendor = "Open MPI", .version = "4.1.4", .settings = {{"btl", "self"}}},
        .cuda = Cuda{.driver = "570", .runtime = "13.0"},
        .gpus = {{.model = "H200", .uuid = "GPU-1"}},
        .env = {{"UCX_TLS", "shm"}},
        .clock = ClockSync{.mode = "ping-pong",
                           .offset_ns = {0, 1'000'000'000'012},
                           .drift_ppm = {0, -1.5},
                           .reach_ns = 5000,
                           .residual_ns = 12},
        .health = {{"n0", {{"swap_used_MiB", 12.5, "", ""}}}}});
}

TEST(Records, APointHasTheFieldsThatScriptsRelyOn) {
    const std::string line = to_json_line(sample_point());
    for (
        const char* part :
        {R"("point":")", R"("launch":2)", R"("key":{"coll":"all_reduce","impl":"tutti",)",
         R"("op":"sum","root":-1,"count":256,"bytes":1024,"inplace":false,"buf":"host",)",
         R"("seg":512,"placement":"scatter"})", R"("mode":"deadline","def":"last_arrival","n":5,)",
         R"("stop_reason":"target_ci")", R"("t_ns":{"min":1000,"p05":1000,"p25":1000,"p50":1100,)",
         R"("ci95_p50_ns":[1000,5000])", R"("straggler":{"0":3,"3":2})", R"("algbw_GBps":)",
         R"("busbw_GBps":)", R"("check":{"state":"ok","n_wrong":0,"max_ulp":0.5})",
         R"("energy_J":0.0625,"gpu_energy_J":0.5,"power":[{"host":0,"meter":"package-0","W":81.5},)",
         R"("samples_ns":[1200,1000,1100,1000,5000])"})
        EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
}

TEST(Records, ASkippedPointHasAReasonAndNoTimes) {
    const std::string line = to_json_line(skipped_point());
    EXPECT_NE(line.find(R"("skipped":"needs a power of two; 6 ranks given")"), std::string::npos);
    EXPECT_EQ(line.find("t_ns"), std::string::npos);
    EXPECT_EQ(line.find("busbw"), std::string::npos);
}

TEST(Records, TextThatIsNoUtf8IsRepaired) {
    const Fail fail{.stderr_tail = "\xff\xfe broken"};
    const auto back = std::get<Fail>(parse_json_line(to_json_line(fail)));
    EXPECT_NE(back.stderr_tail.find(" broken"), std::string::npos);
}

TEST(Records, UnknownKindsAndFieldsAreIgnored) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(
        parse_json_line(R"({"v":1,"kind":"opinion","metric":"x"})")));
    const auto end = std::get<End>(
        parse_json_line(R"({"v":1,"kind":"end","launch":1,"ok":true,"wall_ns":5,"unknown":[{}]})"));
    EXPECT_EQ(end.wall_ns, 5);
}

TEST(Records, NameTheFaultOfALine) {
    EXPECT_TRUE(complaint_about_line("{").starts_with("record:1: invalid JSON"));
    EXPECT_THROW(parse_json_line("{"), NotJson);
    const struct {
        const char *line, *key;
    } rows[] = {
        {"[1]", "\"v\""},
        {R"({"v":2,"kind":"end"})", "version 2"},
        {R"({"v":1,"kind":"end","launch":1,"ok":true})", "'wall_ns'"},
        {R"({"v":1,"kind":"end","launch":"1","ok":true,"wall_ns":1})", "'launch'"},
        {R"({"v":1,"kind":"end","launch":1e30,"ok":true,"wall_ns":1})", "'launch'"},
        {R"({"v":1,"kind":"end","launch":4294967297,"ok":true,"wall_ns":1})", "'launch'"},
        {R"({"v":1})", "'kind'"},
    };
    for (const auto& [line, key] : rows) {
        const std::string complaint = complaint_about_line(line);
        EXPECT_TRUE(complaint.starts_with("record:1: ")) << complaint;
        EXPECT_NE(complaint.find(key), std::string::npos) << complaint;
    }
}

}  // namespace tutti
