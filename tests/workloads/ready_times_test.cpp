// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "tests/workloads/traces.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/models/model.hpp"
#include "workloads/models/model_list.hpp"

namespace tutti {
namespace {

TEST(ReadyTimes, ByFormulaRiseToTheEndOfTheBackwardPass) {
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        const auto times = step_times_by_formula(model, 300'000'000);
        EXPECT_EQ(times.forward_ns, 100'000'000);
        EXPECT_EQ(times.backward_ns, 200'000'000);
        ASSERT_EQ(times.ready_ns.size(), model.parameters.size());
        EXPECT_TRUE(std::is_sorted(times.ready_ns.begin(), times.ready_ns.end())) << entry.name;
        EXPECT_EQ(times.ready_ns.back(), times.backward_ns) << entry.name;
    }
}

TEST(ReadyTimes, ByFormulaAreTheShareOfTheFlopsThatAreDone) {
    Model model;
    model.parameters = {{"a", {1}, 6, 0}, {"b", {1}, 3, 0}, {"c", {1}, 1, 0}};
    model.ready_order = {2, 1, 0};
    EXPECT_EQ(step_times_by_formula(model, 150).ready_ns, (std::vector<std::int64_t>{10, 40, 100}));
}

TEST(ReadyTimes, BeginWithTheTiedHead) {
    const auto model = find_model("gpt2").model;
    const auto times = step_times_by_formula(model, 3'000'000);
    const auto& shape = *model.transformer;
    const double head = 2.0 * static_cast<double>(shape.vocabulary * shape.hidden * shape.sequence);
    const double share = static_cast<double>(times.ready_ns[0]) / 2e6;
    EXPECT_NEAR(share, head / model.forward_flops(), 1e-3);
}

TEST(ReadyTimes, DoNotChangeWithTheScale) {
    const auto model = find_model("resnet50").model;
    EXPECT_EQ(step_times_by_formula(model, 3'000'000).ready_ns,
              step_times_by_formula(scaled(model, 0.01), 3'000'000).ready_ns);
}

TEST(ReadyTimes, OfATraceAreItsOwnAndNeverFall) {
    const std::vector<std::int64_t> measured{5, 20, 19, 40};
    const auto times = step_times_of_trace(4, measured, 10, 30);
    EXPECT_EQ(times.ready_ns, (std::vector<std::int64_t>{5, 20, 20, 40}));
    EXPECT_EQ(times.forward_ns, 10);
    EXPECT_EQ(times.backward_ns, 40);
}

TEST(ReadyTimes, OfATraceAreRefusedWhereTheyDoNotFit) {
    EXPECT_THROW(step_times_of_trace(2, std::vector<std::int64_t>{1}, 0, 0), Error);
    EXPECT_THROW(step_times_of_trace(1, std::vector<std::int64_t>{-1}, 0, 0), Error);
    EXPECT_THROW(step_times_by_formula(find_model("dlrm").model, -1), Error);
}

TEST(ReadyTimes, ByFormulaResembleThoseThatWereMeasured) {
    // Within 7 % of the pass at every gradient, although the formula ignores memory.
    TRACE_OR_SKIP(trace, "resnet50_ddp_2xA100.json");
    const auto times = step_times_by_formula(find_model("resnet50").model, 3'000'000);
    for (const auto& iteration : trace["iterations"]) {
        const auto measured = iteration["ready_us"].get<std::vector<double>>();
        ASSERT_EQ(measured.size(), times.ready_ns.size());
        for (std::size_t i = 0; i < measured.size(); ++i)
            EXPECT_NEAR(static_cast<double>(times.ready_ns[i]) / 2e6, measured[i] / measured.back(),
                        0.07)
                << i;
    }
}

}  // namespace
}  // namespace tutti
