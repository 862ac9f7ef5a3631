// SPDX-License-Identifier: Apache-2.0
// Checks the records of training steps, except for their times.
#include "results/records/step.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "results/records/record.hpp"
#include "results/tables/step_table.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

// Steps of 100 ms or so, of which this is left exposed in each round.
TrainingStep leaving(const char* method, std::vector<std::int64_t> exposed) {
    TrainingStep step;
    step.key.method = method;
    step.check.state = CheckState::ok;
    std::vector<std::int64_t> whole;
    for (const std::int64_t one : exposed) whole.push_back(100'000'000 + one);
    step.step = summarise(whole);
    step.exposed = summarise(exposed);
    derive(step);
    return step;
}

// From `first` on, evenly, 1 ms in all.
std::vector<std::int64_t> spread_from(std::int64_t first) {
    std::vector<std::int64_t> values;
    for (int i = 0; i < 40; ++i) values.push_back(first + (i * 17 % 40) * 25'000);
    return values;
}

std::string footer_of(const TrainingStep& one, const TrainingStep& other) {
    const TrainingStep steps[] = {one, other};
    return step_table_footer(steps);
}

TEST(Step, KnowsWhatIsExposedRelativeToTheStep) {
    const TrainingStep step = leaving("ring", spread_from(-500'000));  // about nothing
    const auto width = static_cast<double>(step.exposed.ci95_hi - step.exposed.ci95_lo);
    EXPECT_GT(width, 0);
    EXPECT_DOUBLE_EQ(half_width_of_exposed(step), width / 2 / static_cast<double>(step.step.p50));
    EXPECT_LT(half_width_of_exposed(step), 0.01);
    EXPECT_TRUE(std::isinf(half_width_of_exposed(leaving("few", {1, 2, 3}))));
}

TEST(Step, SaysWhetherTheBestIsTiedWithTheNext) {
    const TrainingStep best = leaving("ring", spread_from(10'000'000));
    const TrainingStep near = leaving("tree", spread_from(10'100'000));
    const TrainingStep far = leaving("mpi", spread_from(20'000'000));
    EXPECT_FALSE(exposed_differs(best, near));
    EXPECT_TRUE(exposed_differs(best, far));
    EXPECT_TRUE(exposed_differs(far, best));
    EXPECT_FALSE(exposed_differs(best, leaving("few", {99'000'000, 99'000'000})));
    EXPECT_TRUE(holds(footer_of(near, best),
                      {"# Least exposed        : ring,", "# Tied with            : tree,"}));
    EXPECT_FALSE(holds(footer_of(best, far), "Tied with"));
}

TEST(Step, KeepsItsRoundsWhereTheyWereAskedFor) {
    TrainingStep step = leaving("ring", {3, 1, 2});
    EXPECT_FALSE(holds(to_json_line(step), "samples_ns"));
    step.samples =
        StepSamples{.step = {103, 101, 102}, .compute = {100, 100, 100}, .exposed = {3, 1, 2}};
    const std::string line = to_json_line(step);
    EXPECT_NE(
        line.find(
            R"("samples_ns":{"step":[103,101,102],"compute":[100,100,100],"exposed":[3,1,2]})"),
        std::string::npos)
        << line;
    EXPECT_EQ(std::get<TrainingStep>(parse_json_line(line)).samples, step.samples);
}

}  // namespace
}  // namespace tutti
