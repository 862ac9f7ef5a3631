// SPDX-License-Identifier: Apache-2.0
#include "results/tables/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "samples.hpp"

namespace tutti {
namespace {

std::string csv_of(const std::vector<Point>& points) {
    std::ostringstream out;
    write_csv(out, {.points = points});
    return out.str();
}

}  // namespace

// No two values are the same, so that a swap of columns is seen.
TEST(Csv, HasEachValueInItsColumn) {
    Point point = sample_point();
    point.key.root = Rank{3};
    point.key.nranks = 8;
    point.key.input = "rewritten";
    point.key.blocks = "skewed";
    point.key.configuration.order = "topology";
    point.key.configuration.radix = 5;
    point.key.configuration.channels = 6;
    point.measured.n_invalid = 41;
    point.measured.n_warm = 42;
    point.measured.calls_of_sample = 43;
    point.measured.skew_p50_ns = 44;
    point.measured.device_p50_ns = 90;
    point.measured.check.n_wrong = 45;
    point.time = {.n = 9,
                  .min = 101,
                  .p05 = 102,
                  .p25 = 103,
                  .p50 = 104,
                  .p75 = 105,
                  .p95 = 106,
                  .p99 = 107,
                  .max = 108,
                  .mean = 109.5,
                  .sd = 110.5,
                  .ci95_lo = 111,
                  .ci95_hi = 112,
                  .rho1 = 0.125,
                  .n_slow = 13};
    point.bandwidth = {.algbw = 71, .busbw = 72};
    point.limit_ns = 73;
    point.pct_of_limit = 74;
    point.predicted_ns = 75;
    point.choice = "one-shot/shm";
    std::ostringstream out;
    write_csv(out, {.sessions = {{.id = "s1", .t = "yesterday", .tool = {.git = "c0ffee"}}},
                    .launches = {{.session = "s1", .launch = 2, .t = "today", .topo_sha256 = "ab"}},
                    .points = {point}});
    EXPECT_EQ(
        out.str(),
        "session,launch,t,git,machine,metric,point,coll,impl,algo,transport,dtype,op,root,count,"
        "bytes,inplace,buf,nranks,ppn,seg,radix,channels,levels,level_algorithms,placement,input,"
        "blocks,aggressor,rank_"
        "order,hosts,"
        "skipped,mode,def,n,n_invalid,n_warm,calls_of_sample,stop_reason,min_ns,p05_ns,p25_ns,p50_"
        "ns,"
        "p75_ns,p95_ns,p99_ns,max_ns,mean_ns,sd_ns,ci95_p50_low_ns,ci95_p50_high_ns,rho1,n_slow,"
        "skew_p50_ns,device_p50_ns,clock_residual_ns,algbw_GBps,busbw_GBps,wire_tx_bytes_per_call,"
        "wire_rx_bytes_per_call,energy_J,gpu_energy_J,check_state,n_wrong,limit_ns,pct_of_limit,"
        "predicted_ns,choice\r\n"
        "s1,2,today,c0ffee,ab,\"all_reduce_v 1K float sum root 3 host rewritten skewed "
        "ring[512,k5,x6]@topology (shm), 8 ranks on 4 hosts, scatter\"," +
            point_id(point.key) +
            ",all_reduce,tutti,ring,shm,float,sum,3,256,1024,0,host,8,2,512,5,6,0,0,scatter,"
            "rewritten,"
            "skewed,,topology,4,,deadline,last_arrival,9,41,42,43,target_ci,101,102,103,104,105,"
            "106,"
            "107,"
            "108,109.5,110.5,111,112,0.125,13,44,90,80,71.0,72.0,1060.0,1050.0,0.0625,0.5,ok,45,"
            "73.0,74.0,75.0,one-shot/shm\r\n");
}

// Python has the columns of steps, and compares them with these.
TEST(Csv, HasStepsOrVerdictsWhereThereAreNoPoints) {
    TrainingStep step;
    step.key = {.workload = "ddp", .method = "ring/shm", .nranks = 4, .ppn = 2};
    step.step.n = 7;
    step.step.p50 = 21;
    step.step.ci95_lo = 20;
    step.step.ci95_hi = 22;
    std::ostringstream steps, verdicts;
    write_csv(steps, {.steps = {step}});
    EXPECT_NE(steps.str().find(",\"ddp ring/shm, 4 ranks on 2 hosts\",ddp,"), std::string::npos);
    EXPECT_NE(steps.str().find(",7,21,20,22,"), std::string::npos) << steps.str();
    write_csv(verdicts, {.verdicts = {{.metric = "m", .ratio = 1.5}}});
    // Defaults that the JSON leaves out are there; what is not known is empty.
    EXPECT_NE(verdicts.str().find(",m,undecided,1.5,,,0.98,1.0,,,,,ns,0,0,1,,,,turns\r\n"),
              std::string::npos)
        << verdicts.str();
    std::ostringstream both;
    EXPECT_THROW(write_csv(both, {.points = {sample_point()}, .steps = {step}}), Error);
}

TEST(Csv, HasNoIntervalBelowSixCalls) {
    std::vector<Point> points(2, sample_point());
    points[0].time = {.n = 5, .min = 1001, .ci95_lo = 1001, .ci95_hi = 1009};
    points[1].time = {.n = 6, .min = 2001, .ci95_lo = 2002, .ci95_hi = 2009};
    const std::string csv = csv_of(points);
    EXPECT_EQ(csv.find("1009"), std::string::npos);
    EXPECT_NE(csv.find(",2002,2009,"), std::string::npos);
}

TEST(Csv, HasAHeaderAndOneRowPerPointOfEqualWidth) {
    std::istringstream rows(csv_of({sample_point(), skipped_point()}));
    std::vector<int> commas;
    for (std::string row; std::getline(rows, row);) {
        EXPECT_EQ(row.back(), '\r');
        commas.push_back(0);
        bool is_quoted = false;
        for (const char letter : row) {
            if (letter == '"') is_quoted = !is_quoted;
            if (letter == ',' && !is_quoted) ++commas.back();
        }
    }
    ASSERT_EQ(commas.size(), 3u);
    EXPECT_EQ(commas[1], commas[0]);
    EXPECT_EQ(commas[2], commas[0]);
}

TEST(Csv, QuotesWhatWouldBreakACell) {
    Point point = skipped_point();
    point.skipped = "a, \"b\"\nc";
    EXPECT_NE(csv_of({point}).find(",\"a, \"\"b\"\"\nc\","), std::string::npos);
}

TEST(Csv, LeavesTheTimesOfASkippedPointEmpty) {
    EXPECT_TRUE(csv_of({skipped_point()}).ends_with(",,,,,,,\r\n"));
}

}  // namespace tutti
