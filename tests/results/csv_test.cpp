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
