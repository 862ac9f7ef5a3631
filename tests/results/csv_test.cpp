// SPDX-License-Identifier: Apache-2.0
#include "results/tables/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "samples.hpp"

namespace tutti {
namespace {

std::string csv_of(const std::vector<Point>& points) {
    std::ostringstream out;
    write_csv(out, points);
    return out.str();
}

}  // namespace

// No two values are the same, so that a swap of columns is seen.
TEST(Csv, HasEachValueInItsColumn) {
    Point point = sample_point();
    point.key.root = Rank{3};
    point.key.nranks = 8;
    point.key.input = "rewritten";
    point.key.configuration.order = "topology";
    point.key.configuration.radix = 5;
    point.key.configuration.channels = 6;
    point.measured.n_invalid = 41;
    point.measured.n_warm = 42;
    point.measured.calls_of_sample = 43;
    point.measured.skew_p50_ns = 44;
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
    EXPECT_EQ(csv_of({point}),
              "session,launch,point,coll,impl,algo,transport,dtype,op,root,count,bytes,inplace,buf,"
              "nranks,ppn,seg,placement,input,order,radix,channels,skipped,mode,def,n,n_invalid,"
              "n_warm,calls_of_sample,stop_reason,min_ns,p05_ns,p25_ns,p50_ns,p75_ns,p95_ns,p99_ns,"
              "max_ns,mean_ns,sd_ns,ci95_lo_ns,ci95_hi_ns,rho1,n_slow,skew_p50_ns,algbw_GBps,"
              "busbw_GBps,wire_tx_bytes_per_call,wire_rx_bytes_per_call,energy_J,gpu_energy_J,"
              "check,n_wrong,limit_ns,pct_of_limit,predicted_ns,choice\r\ns1,2," +
                  point_id(point.key) +
                  ",all_reduce,tutti,ring,shm,float,sum,3,256,1024,0,host,8,2,512,scatter,"
                  "rewritten,topology,5,6,,deadline,last_arrival,9,41,42,43,target_ci,101,102,103,"
                  "104,105,106,107,108,109.5,110.5,111,112,0.125,13,44,71,72,1060,1050,0.0625,0.5,"
                  "ok,45,73.0,74.0,75.0,one-shot/shm\r\n");
}

TEST(Csv, HasAHeaderAndOneRowPerPointOfEqualWidth) {
    std::istringstream rows(csv_of({sample_point(), skipped_point()}));
    std::vector<std::ptrdiff_t> commas;
    for (std::string row; std::getline(rows, row);) {
        EXPECT_EQ(row.back(), '\r');
        commas.push_back(std::count(row.begin(), row.end(), ','));
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
