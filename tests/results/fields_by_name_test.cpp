// SPDX-License-Identifier: Apache-2.0
// Each kind of record as a literal line in which no two values of one type are the same. A swap of
// two fields survives a round trip, as writer and reader share it; here it does not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "samples.hpp"

namespace tutti {
namespace {

template <class Kind>
void expect_fields(const Kind& record, std::string_view fields) {
    using nlohmann::json;
    json expected = json::parse(fields);
    expected["v"] = 1;
    EXPECT_EQ(json::parse(to_json_line(record)), expected);
    EXPECT_EQ(std::get<Kind>(parse_json_line(expected.dump())), record) << fields;
}

Key key() {
    Key key{.coll = Collective::reduce,
            .configuration = {.impl = "nccl", .algorithm = "tree", .transport = "ucx"},
            .dtype = DataType::bfloat16,
            .op = Op::max,
            .root = Rank{2},
            .count = 11,
            .bytes = {22},
            .inplace = true,
            .buf = "cuda",
            .nranks = 4,
            .ppn = 3,
            .placement = "scatter",
            .input = "rewritten",
            .blocks = "zeros"};
    key.configuration.segment = {512};
    key.configuration.radix = 5;
    key.configuration.channels = 6;
    key.configuration.order = "topology";
    return key;
}

constexpr std::string_view key_fields = R"({"coll":"reduce","impl":"nccl","algo":"tree",
    "transport":"ucx","dtype":"bfloat16","op":"max","root":2,"count":11,"bytes":22,"inplace":true,
    "buf":"cuda","nranks":4,"ppn":3,"seg":512,"radix":5,"channels":6,"placement":"scatter",
    "input":"rewritten","blocks":"zeros","order":"topology"})";

// Every field differs from all others, and from those of a summary that begins elsewhere.
Summary summary(std::int64_t first) {
    return {.n = 9,
            .min = first + 1,
            .p05 = first + 2,
            .p25 = first + 3,
            .p50 = first + 4,
            .p75 = first + 5,
            .p95 = first + 6,
            .p99 = first + 7,
            .max = first + 8,
            .mean = static_cast<double>(first) + 4.5,
            .sd = static_cast<double>(first) + 0.25};
}

std::string summary_fields(const std::string& tens) {
    std::string text = R"({"min":#1,"p05":#2,"p25":#3,"p50":#4,"p75":#5,"p95":#6,"p99":#7,
        "max":#8,"mean":#4.5,"sd":#0.25})";
    for (std::size_t at = 0; (at = text.find('#', at)) != text.npos;) text.replace(at, 1, tens);
    return text;
}

TEST(FieldsByName, OfASessionAndItsTool) {
    expect_fields(Session{.id = "i",
                          .t = "2026-01-31T12:00:00.000Z",
                          .tool = {.version = "0.1.0",
                                   .git = "abc",
                                   .dirty = true,
                                   .build_type = "Release",
                                   .compiler = "GNU 12",
                                   .flags = "-O3"},
                          .argv = {"tutti", "bench"},
                          .cwd = "/home",
                          .seed = 7,
                          .plan_sha256 = "p",
                          .plan = {{"order", "random"}},
                          .resume_of = "h"},
                  R"({"kind":"session","id":"i","t":"2026-01-31T12:00:00.000Z",
        "tool":{"version":"0.1.0","git":"abc","dirty":true,"build_type":"Release",
        "compiler":"GNU 12","flags":"-O3"},"argv":["tutti","bench"],"cwd":"/home","seed":7,
        "plan_sha256":"p","plan":{"order":"random"},"resume_of":"h"})");
}

TEST(FieldsByName, OfALaunchItsHostsRanksAndLibraries) {
    expect_fields(
        Launch{.session = "s",
               .launch = 4,
               .t = "2026-01-31T12:00:00.000Z",
               .argv = {"mpirun"},
               .nranks = 6,
               .ppn = 2,
               .hosts = {{.name = "n0",
                          .boot_id = "b",
                          .kernel = "6.1",
                          .cpu_model = "EPYC",
                          .sockets = 3,
                          .cores = 5,
                          .smt = "on",
                          .governor = "performance",
                          .turbo = "off",
                          .mem = {1024},
                          .cgroup_cpus = 1.5,
                          .virt = "kvm",
                          .loadavg1 = 0.25,
                          .topo_sha256 = "one"}},
               .topo_sha256 = "both",
               .ranks = {{.rank = Rank{8},
                          .host = "n1",
                          .pid = 77,
                          .cpuset = "0-3",
                          .numa = 9,
                          .gpu_uuid = "GPU-1"}},
               .mpi = Library{.vendor = "Open MPI", .version = "4.1", .settings = {{"a", "b"}}},
               .ucx = Library{.version = "1.23"},
               .nccl = Library{.version = "2.28"},
               .cuda = Cuda{.driver = "570", .runtime = "13.0"},
               .gpus = {{.model = "H200", .uuid = "GPU-2"}},
               .env = {{"UCX_TLS", "shm"}},
               .clock = ClockSync{.mode = "ping-pong",
                                  .offset_ns = {1, 2},
                                  .drift_ppm = {0.5, -1.5},
                                  .reach_ns = 5000,
                                  .residual_ns = 12},
               .health = {{"n2", {{"swap_used_MiB", 12.5, "part", "fault"}}}}},
        R"({"kind":"launch","session":"s","launch":4,"t":"2026-01-31T12:00:00.000Z",
        "argv":["mpirun"],"nranks":6,"ppn":2,"hosts":[{"name":"n0","boot_id":"b","kernel":"6.1",
        "cpu_model":"EPYC","sockets":3,"cores":5,"smt":"on","governor":"performance","turbo":"off",
        "mem_bytes":1024,"cgroup_cpus":1.5,"virt":"kvm","loadavg1":0.25,"topo_sha256":"one"}],
        "topo_sha256":"both","ranks":[{"rank":8,"host":"n1","pid":77,"cpuset":"0-3","numa":9,
        "gpu_uuid":"GPU-1"}],"mpi":{"vendor":"Open MPI","version":"4.1","settings":{"a":"b"}},
        "ucx":{"version":"1.23"},"nccl":{"version":"2.28"},
        "cuda":{"driver":"570","runtime":"13.0"},
        "gpus":[{"model":"H200","uuid":"GPU-2"}],
        "env":{"UCX_TLS":"shm"},"clock":{"mode":"ping-pong","offset_ns":[1,2],
        "drift_ppm":[0.5,-1.5],"reach_ns":5000,"residual_ns":12},"health":[{"host":"n2",
        "readings":[{"name":"swap_used_MiB","value":12.5,"of":"part","wrong":"fault"}]}]})");
}

TEST(FieldsByName, OfAPoint) {
    Point point{.session = "s", .launch = 2, .key = key()};
    point.time = summary(100);
    point.time.ci95_lo = 151;
    point.time.ci95_hi = 152;
    point.time.rho1 = 0.125;
    point.time.n_slow = 3;
    point.measured = {
        .samples = {31, 32},
        .start = Start::back_to_back,
        .from = TimeFrom::first_arrival,
        .n_invalid = 41,
        .n_warm = 42,
        .calls_of_sample = 43,
        .stop_reason = "max_n",
        .skew_p50_ns = 44,
        .device_p50_ns = 45,
        .clock_residual_ns = 46,
        .stragglers = {{Rank{5}, 47}},
        .network_bytes =
            NetworkBytes{
                .host = 1, .tx_per_call = 51, .rx_per_call = 52, .interfaces = {{"eth0", 53, 54}}},
        .energy_J = 61,
        .gpu_energy_J = 62,
        .power = {{1, "package-0", 63}},
        .check = {.state = CheckState::fail, .n_wrong = 64, .max_ulp = 65}};
    point.bandwidth = {.algbw = 71, .busbw = 72};
    point.limit_ns = 73;
    point.pct_of_limit = 74;
    point.predicted_ns = 75;
    point.choice = "ring/shm";
    point.levels = {{.within = Level::numa, .bytes = 81, .messages = 82, .ns = 83},
                    {.bytes = 84, .messages = 85}};
    expect_fields(point, R"({"kind":"point","session":"s","launch":2,"point":")" +
                             point_id(point.key) + R"(","key":)" + std::string(key_fields) +
                             R"(,"mode":"b2b","def":"first_arrival","n":9,"n_invalid":41,
        "n_warm":42,"calls_of_sample":43,"stop_reason":"max_n","t_ns":)" +
                             summary_fields("10") +
                             R"(,"ci95_p50_ns":[151,152],"rho1":0.125,"n_slow":3,
        "skew_p50_ns":44,"device_p50_ns":45,"clock_residual_ns":46,"straggler":{"5":47},
        "algbw_GBps":71.0,"busbw_GBps":72.0,"check":{"state":"fail","n_wrong":64,"max_ulp":65.0},
        "wire":{"host":1,"tx_bytes_per_call":51.0,"rx_bytes_per_call":52.0,"interfaces":[{
        "if":"eth0","tx_bytes_per_call":53.0,"rx_bytes_per_call":54.0}]},"energy_J":61.0,
        "gpu_energy_J":62.0,"power":[{"host":1,"meter":"package-0","W":63.0}],"limit_ns":73.0,
        "pct_of_limit":74.0,"predicted_ns":75.0,"choice":"ring/shm","levels":[{"within":"numa",
        "bytes":81,"messages":82,"ns":83},{"bytes":84,"messages":85}],"samples_ns":[31,32]})");
}

TEST(FieldsByName, OfATrainingStep) {
    TrainingStep step{.session = "s",
                      .launch = 2,
                      .key = {.workload = "ddp",
                              .model = "resnet50",
                              .compute = "burn",
                              .buffers = "mapped",
                              .settings = "scale=0.1",
                              .placement = "scatter",
                              .method = "ring/shm",
                              .nranks = 4,
                              .ppn = 3,
                              .bytes = 11,
                              .calls = 12},
                      .step = summary(100),
                      .compute = summary(110),
                      .communication = summary(120),
                      .exposed = summary(130),
                      .computing = summary(140),
                      .wait = summary(150),
                      .work = summary(160),
                      .overlap = 0.5,
                      .slowdown = 1.25,
                      .bound_ns = 1.75,
                      .check = {.state = CheckState::ok, .n_wrong = 0},
                      .metrics = {{"accuracy", 0.875}},
                      .samples = StepSamples{{1}, {2}, {3}, {4}, {5}, {6}, {7}}};
    step.step.ci95_lo = 21, step.step.ci95_hi = 22;
    step.exposed.ci95_lo = 23, step.exposed.ci95_hi = 24;
    for (Summary* one : {&step.compute, &step.communication, &step.exposed, &step.computing,
                         &step.wait, &step.work})
        one->n = 0;
    expect_fields(
        step,
        R"({"kind":"step","session":"s","launch":2,"key":{"workload":"ddp","model":"resnet50",
        "compute":"burn","buffers":"mapped","settings":"scale=0.1","placement":"scatter",
        "way":"ring/shm","nranks":4,"ppn":3,"bytes":11,"calls":12},"n":9,"step_ns":)" +
            summary_fields("10") + R"(,"ci95_step_ns":[21,22],"compute_ns":)" +
            summary_fields("11") + R"(,"communication_ns":)" + summary_fields("12") +
            R"(,"exposed_ns":)" + summary_fields("13") +
            R"(,"ci95_exposed_ns":[23,24],"computing_ns":)" + summary_fields("14") +
            R"(,"wait_ns":)" + summary_fields("15") + R"(,"work_ns":)" + summary_fields("16") +
            R"(,"overlap":0.5,"slowdown":1.25,"bound_ns":1.75,
        "check":{"state":"ok","n_wrong":0},"metrics":[{"name":"accuracy","value":0.875}],
        "samples_ns":{"step":[1],"compute":[2],"exposed":[3],"communication":[4],"computing":[5],
        "wait":[6],"work":[7]}})");
}

TEST(FieldsByName, OfAFailAndAnEnd) {
    expect_fields(Fail{.session = "s",
                       .launch = 3,
                       .point = "0123456789abcdef",
                       .phase = "measure",
                       .what = "signal",
                       .rank = Rank{5},
                       .host = "n1",
                       .code = 9,
                       .signal = 11,
                       .last_beat_ns = 13,
                       .stderr_tail = "tail",
                       .stacks = "stacks of ranks"},
                  R"({"kind":"fail","session":"s","launch":3,"point":"0123456789abcdef",
        "phase":"measure","what":"signal","rank":5,"host":"n1","code":9,"signal":11,
        "last_beat_ns":13,"stderr_tail":"tail","stacks":"stacks of ranks"})");
    expect_fields(End{.session = "s",
                      .launch = 3,
                      .ok = false,
                      .wall_ns = 12,
                      .health = {{"n0", {{"steal_pct", 3.5, "part", "fault"}}}, {"n1", {}}}},
                  R"({"kind":"end","session":"s","launch":3,"ok":false,"wall_ns":12,"health":[
        {"host":"n0","readings":[{"name":"steal_pct","value":3.5,"of":"part","wrong":"fault"}]},
        {"host":"n1","readings":[]}]})");
}

TEST(FieldsByName, OfLimits) {
    expect_fields(Limits{.session = "s",
                         .launch = 2,
                         .t = "2026-01-31T12:00:00.000Z",
                         .topo_sha256 = "abc",
                         .kernels = "avx2",
                         .cores = 3,
                         .clock_ns = 20.5,
                         .signal_latencies = {{Rank{0}, Rank{1}, 40.5, 60.5}},
                         .yield_ns = 1000.5,
                         .wake_ns = 15000.5,
                         .wake_same_core_ns = 2500.5,
                         .curves = {{"copy", "streaming", 4, {{{4096}}, {7.5}}}},
                         .staged = {{{8192}}, {8.5}},
                         .single_copy_ns = 1500.5,
                         .single_copy = {{{16384}}, {9.5}},
                         .stream_trials = {{{32768}, 100.5, 120.5}},
                         .stream_from = {65536},
                         .taken = 0.015625,
                         .network = HostNetwork{.hosts = {"n0", "n1"},
                                                .links = {{.a = 0,
                                                           .b = 1,
                                                           .latency_ns = 50.5,
                                                           .gbps = 0.125,
                                                           .back_gbps = 0.25,
                                                           .both_gbps = 0.375,
                                                           .burst = {512},
                                                           .residual = 0.03125}},
                                                .all_gbps = 0.5}},
                  R"({"kind":"limits","session":"s","launch":2,"t":"2026-01-31T12:00:00.000Z",
        "topo_sha256":"abc","kernels":"avx2","cores":3,"clock_ns":20.5,"hand_overs":[{"a":0,"b":1,
        "one_way_ns":40.5,"exchange_ns":60.5}],"yield_ns":1000.5,"wake_ns":15000.5,
        "wake_same_core_ns":2500.5,"curves":[{"pass":"copy","stores":"streaming","cores":4,
        "bytes":[4096],"GBps":[7.5]}],"staged":{"bytes":[8192],"GBps":[8.5]},
        "single_copy_ns":1500.5,"single_copy":{"bytes":[16384],"GBps":[9.5]},
        "stream_trials":[{"bytes":32768,"cached_ns":100.5,"streaming_ns":120.5}],
        "stream_from":65536,"taken":0.015625,"network":{"hosts":["n0","n1"],"links":[{"a":0,"b":1,
        "latency_ns":50.5,"GBps":0.125,"back_GBps":0.25,"both_GBps":0.375,"burst":512,
        "residual":0.03125}],"all_GBps":0.5}})");
    expect_fields(LowerLimits{.session = "s", .launch = 2, .limit_ns = {{"0123456789abcdef", 5.5}}},
                  R"({"kind":"lower_limits","session":"s","launch":2,
        "limit_ns":{"0123456789abcdef":5.5}})");
}

TEST(FieldsByName, OfComparisonsAndNumerics) {
    expect_fields(Pair{.session = "s",
                       .launch = 3,
                       .stage = 2,
                       .metric = "m",
                       .seen = {.change = 0.5,
                                .noise_a = -0.25,
                                .noise_b = 0.75,
                                .a_ns = 10.5,
                                .b_ns = 11.5,
                                .unit = "MB/s",
                                .higher_is_better = true,
                                .quads = {1.5}}},
                  R"({"kind":"pair","session":"s","launch":3,"stage":2,"metric":"m","est":0.5,
        "noise_a":-0.25,"noise_b":0.75,"a_ns":10.5,"b_ns":11.5,"unit":"MB/s",
        "higher_is_better":true,"quads":[1.5]})");
    expect_fields(VerdictRecord{.session = "s",
                                .metric = "m",
                                .verdict = Change::slower,
                                .ratio = 1.5,
                                .low = 1.25,
                                .high = 1.75,
                                .confidence = 0.875,
                                .p = 0.125,
                                .noise = 0.0625,
                                .visible = 0.03125,
                                .a_ns = 10.5,
                                .b_ns = 11.5,
                                .unit = "MB/s",
                                .higher_is_better = true,
                                .launches = 12,
                                .stage = 2,
                                .rule = "why",
                                .to_decide = "how",
                                .nranks = 4,
                                .method = Pairing::stored,
                                .ignored = {"cores"}},
                  R"({"kind":"verdict","session":"s","metric":"m","verdict":"slower","ratio":1.5,
        "low":1.25,"high":1.75,"confidence":0.875,"p":0.125,"noise":0.0625,"mde":0.03125,
        "a_ns":10.5,"b_ns":11.5,"unit":"MB/s","higher_is_better":true,"n_launch":12,"stage":2,
        "rule":"why","to_decide":"how","nranks":4,
        "method":"stored","ignored":["cores"]})");
    expect_fields(FloorRecord{.session = "s",
                              .asked = "asked",
                              .metric = "m",
                              .metrics = 3,
                              .value = 18.5,
                              .bound = 20.5,
                              .unit = "GB/s",
                              .met = false},
                  R"({"kind":"floor","session":"s","asked":"asked","metric":"m","metrics":3,
        "value":18.5,"bound":20.5,"unit":"GB/s","met":false})");
    expect_fields(StepGrowth{.session = "s",
                             .metric = "m",
                             .launches = 5,
                             .a_ns = {1.5},
                             .b_ns = {2.5},
                             .grew_ns = {3.5}},
                  R"({"kind":"step_growth","session":"s","metric":"m","n_launch":5,"a_ns":[1.5],
        "b_ns":[2.5],"grew_ns":[3.5]})");
    expect_fields(Numerics{.session = "s",
                           .launch = 2,
                           .key = key(),
                           .elements = 256,
                           .of = {{.draw = Draw::cancelling,
                                   .max_ulp = 1.5,
                                   .ranks_agree = true,
                                   .runs_agree = false,
                                   .checksum = "0123456789abcdef"}}},
                  R"({"kind":"numerics","session":"s","launch":2,"elements":256,"of":[{
        "data":"cancelling","max_ulp":1.5,"ranks_agree":true,"runs_agree":false,
        "checksum":"0123456789abcdef"}],"point":")" +
                      point_id(key()) + R"(","key":)" + std::string(key_fields) + "}");
}

}  // namespace
}  // namespace tutti
