// SPDX-License-Identifier: Apache-2.0
#include "results/stored/printable_results.hpp"

#include <gtest/gtest.h>

#include "samples.hpp"

namespace tutti {
namespace {

constexpr const char* hostile = "::error::\x1b[2Jtwo\nlines";
constexpr const char* harmless = "?:error::?[2Jtwo?lines";

TEST(PrintableResults, HaveNoTextThatATerminalOrACiSystemObeys) {
    Results results;
    Session& session = results.sessions.emplace_back();
    session.argv = {"tutti", hostile};
    session.plan = {{"algo", hostile}};
    session.resume_of = hostile;
    results.launches.emplace_back().hosts.push_back({.name = hostile});
    Point& point = results.points.emplace_back(sample_point());
    point.key.configuration.algorithm = point.choice = hostile;
    results.points.emplace_back().skipped = hostile;
    results.steps.emplace_back().metrics = {{hostile, 1}};
    results.verdicts.emplace_back().metric = hostile;
    make_printable(results);
    EXPECT_EQ(results.sessions[0].argv[1], harmless);
    EXPECT_EQ(results.sessions[0].plan.at("algo"), harmless);
    EXPECT_EQ(results.sessions[0].resume_of, harmless);
    EXPECT_EQ(results.launches[0].hosts[0].name, harmless);
    EXPECT_EQ(results.points[0].key.configuration.algorithm, harmless);
    EXPECT_EQ(results.points[0].choice, harmless);
    EXPECT_EQ(results.points[1].skipped, harmless);
    EXPECT_EQ(results.steps[0].metrics[0].name, harmless);
    EXPECT_EQ(results.verdicts[0].metric, harmless);
}

TEST(PrintableResults, AreAsTheyWereWhereTheyAreHarmless) {
    Results results;
    results.points = {sample_point(), skipped_point()};
    results.limits = {sample_limits()};
    make_printable(results);
    EXPECT_EQ(results.points, (std::vector{sample_point(), skipped_point()}));
    EXPECT_EQ(results.limits, std::vector{sample_limits()});
}

}  // namespace
}  // namespace tutti
