// SPDX-License-Identifier: Apache-2.0
#include "results/tables/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "samples.hpp"

namespace tutti {
namespace {

std::string csv_of(const std::vector<Point>& points) {
    std::ostringstream out;
    write_csv(out, points);
    return out.str();
}

std::vector<std::string> cells_of(std::istream& rows) {
    std::string row;
    std::getline(rows, row, '\r');
    rows.get();  // the newline
    std::istringstream in(row);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    return cells;
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
    std::istringstream rows(csv_of({point}));
    const std::vector<std::string> names = cells_of(rows), cells = cells_of(rows);
    ASSERT_EQ(cells.size(), names.size());
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
    const std::map<std::string, std::string> expected{{"session", "s1"},
                                                      {"launch", "2"},
                                                      {"point", point_id(point.key)},
                                                      {"coll", "all_reduce"},
                                                      {"impl", "tutti"},
                                                      {"algo", "ring"},
                                                      {"transport", "shm"},
                                                      {"dtype", "float"},
                                                      {"op", "sum"},
                                                      {"root", "3"},
                                                      {"count", "256"},
                                                      {"bytes", "1024"},
                                                      {"inplace", "0"},
                                                      {"buf", "host"},
                                                      {"nranks", "8"},
                                                      {"ppn", "2"},
                                                      {"seg", "512"},
                                                      {"placement", "scatter"},
                                                      {"input", "rewritten"},
                                                      {"order", "topology"},
                                                      {"radix", "5"},
                                                      {"channels", "6"},
                                                      {"skipped", ""},
                                                      {"mode", "deadline"},
                                                      {"def", "last_arrival"},
                                                      {"n", "9"},
                                                      {"n_invalid", "41"},
                                                      {"n_warm", "42"},
                                                      {"calls_of_sample", "43"},
                                                      {"stop_reason", "target_ci"},
                                                      {"min_ns", "101"},
                                                      {"p05_ns", "102"},
                                                      {"p25_ns", "103"},
                                                      {"p50_ns", "104"},
                                                      {"p75_ns", "105"},
                                                      {"p95_ns", "106"},
                                                      {"p99_ns", "107"},
                                                      {"max_ns", "108"},
                                                      {"mean_ns", "109.5"},
                                                      {"sd_ns", "110.5"},
                                                      {"ci95_lo_ns", "111"},
                                                      {"ci95_hi_ns", "112"},
                                                      {"rho1", "0.125"},
                                                      {"n_slow", "13"},
                                                      {"skew_p50_ns", "44"},
                                                      {"algbw_GBps", "71"},
                                                      {"busbw_GBps", "72"},
                                                      {"wire_tx_bytes_per_call", "1060"},
                                                      {"wire_rx_bytes_per_call", "1050"},
                                                      {"energy_J", "0.0625"},
                                                      {"gpu_energy_J", "0.5"},
                                                      {"check", "ok"},
                                                      {"n_wrong", "45"},
                                                      {"limit_ns", "73.0"},
                                                      {"pct_of_limit", "74.0"},
                                                      {"predicted_ns", "75.0"},
                                                      {"choice", "one-shot/shm"}};
    EXPECT_EQ(row, expected);
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

TEST(Csv, HoldsTheNumbers) {
    Point point = sample_point();
    point.predicted_ns = 1200.5;
    point.choice = "one-shot/shm";
    const std::string text = csv_of({point});
    EXPECT_TRUE(text.starts_with("session,launch,point,coll,impl,algo,transport,dtype,op,root,"));
    EXPECT_NE(text.find(",all_reduce,tutti,ring,shm,float,sum,-1,256,1024,0,host,4,2,512,scatter,"),
              std::string::npos);
    EXPECT_NE(text.find(",deadline,last_arrival,5,1,3,1,target_ci,1000,"), std::string::npos);
    EXPECT_TRUE(text.ends_with(",1060,1050,0.0625,0.5,ok,0,550.0,50.0,1200.5,one-shot/shm\r\n"))
        << text;
}

}  // namespace tutti
