// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "tests/workloads/traces.hpp"
#include "workloads/scenarios/bucket_cap.hpp"

namespace tutti {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

// A recorded trace, in the order in which gradients became ready.
struct Timeline {
    std::vector<std::int64_t> counts;
    std::vector<ComputeTimes> steps;
};

Timeline timeline_of(const nlohmann::json& trace) {
    Timeline line;
    line.counts = trace["ready_param_numel"].get<std::vector<std::int64_t>>();
    for (const auto& step : trace["iterations"]) {
        std::vector<std::int64_t> ready;
        for (const double us : step["ready_us"]) ready.push_back(std::llround(us * 1000));
        line.steps.push_back(step_times_of_trace(line.counts.size(), ready, 0, 0));
    }
    return line;
}

// In us, rounded, of caps as PyTorch takes them: the first bucket is closed at 1 MiB.
std::vector<std::int64_t> exposed_at(const Timeline& line, std::size_t step, Bytes element,
                                     const NetworkModel& network) {
    std::vector<int> order(line.counts.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::int64_t> all;
    for (const std::int64_t cap : {std::int64_t{1}, mebibyte, 5 * mebibyte, 25 * mebibyte}) {
        std::vector<TimedMessage> messages;
        for (const Bucket& bucket :
             buckets_of(line.counts, order, element, {{std::min(cap, mebibyte)}, {cap}}))
            messages.push_back(
                {line.steps[step]
                     .ready_ns[static_cast<std::size_t>(std::ranges::max(bucket.parameters))],
                 Bytes{bucket.count * element.count}});
        all.push_back(
            std::llround(exposed_ns(messages, line.steps[step].ready_ns.back(), network) * 1e-3));
    }
    return all;
}

TEST(Exposed, IsWhatTheSerialChannelHasNotCarriedWhenComputingEnds) {
    const NetworkModel network{.latency_ns = 10, .ns_per_byte = 2};
    // 0..30, then waits for the second until 100..120, then 120..150: 40 after the end.
    const std::vector<TimedMessage> messages{{0, {10}}, {100, {5}}, {110, {10}}};
    EXPECT_EQ(exposed_ns(messages, 110, network), 40);
    EXPECT_EQ(exposed_ns(messages, 1000, network), 0);
    EXPECT_EQ(exposed_ns({}, 0, network), 0);
}

TEST(Exposed, OfRecordedTimelinesIsWhatAnotherSimulationFound) {
    {
        TRACE_OR_SKIP(trace, "resnet50_ddp_2xA100.json");
        const Timeline line = timeline_of(trace);
        EXPECT_EQ(exposed_at(line, 1, {4}, parse_network_model("100us+1.25GB/s")),
                  (std::vector<std::int64_t>{16349, 3749, 1549, 7879}));
        EXPECT_EQ(exposed_at(line, 1, {4}, parse_network_model("50us+5GB/s")),
                  (std::vector<std::int64_t>{58, 160, 257, 1995}));
    }
    {
        TRACE_OR_SKIP(trace, "resnet18_1x2080Ti.json");
        EXPECT_EQ(exposed_at(timeline_of(trace), 1, {4}, parse_network_model("350us+0.9GB/s")),
                  (std::vector<std::int64_t>{392, 886, 3386, 17965}));
    }
    TRACE_OR_SKIP(trace, "resnet18_ddp_8xMI300X.json");
    EXPECT_EQ(exposed_at(timeline_of(trace), 1, {2}, parse_network_model("50us+5GB/s")),
              (std::vector<std::int64_t>{2638, 393, 441, 3576}));
}

TEST(BucketCap, ThatIsBestLeavesAThirdOfTheDefaultOnesExposedOnTheA100Timeline) {
    TRACE_OR_SKIP(trace, "resnet50_ddp_2xA100.json");
    const Timeline line = timeline_of(trace);
    const auto tried =
        try_caps(line.counts, {4}, {mebibyte}, line.steps, parse_network_model("100us+1.25GB/s"));
    const auto ddp_default = std::ranges::find(tried, Bytes{25 * mebibyte},
                                               [](const CapTrial& one) { return one.caps.others; });
    ASSERT_NE(ddp_default, tried.end());
    EXPECT_NEAR(ddp_default->exposed_ns, 7'879'000, 1000);
    EXPECT_LE(best_of(tried).exposed_ns, ddp_default->exposed_ns / 3);
    for (const CapTrial& one : tried) EXPECT_GE(one.exposed_ns, best_of(tried).exposed_ns);
}

TEST(BucketCap, CandidatesGoFromTheSmallestToOneBucketMoreThanTheFirst) {
    const std::vector<std::int64_t> counts(100, 1 << 18);  // 1 MiB each
    ComputeTimes times{.forward_ns = 0, .backward_ns = 100, .ready_ns = {}};
    for (int i = 1; i <= 100; ++i) times.ready_ns.push_back(i);
    const auto tried = try_caps(counts, {4}, {mebibyte}, {&times, 1}, {.latency_ns = 1});
    EXPECT_EQ(tried.front().caps.others, Bytes{256 << 10});
    EXPECT_EQ(tried.front().caps.first, Bytes{256 << 10});
    EXPECT_EQ(tried.front().buckets, 100U);
    EXPECT_EQ(tried.back().caps.first, Bytes{mebibyte});
    EXPECT_EQ(tried.back().buckets, 2U);
    // All end with one message: as few of them as can be.
    EXPECT_EQ(best_of(tried).buckets, 2U);
}

TEST(NetworkModel, IsReadAndMeasured) {
    EXPECT_EQ(parse_network_model("100us+1.25GB/s"), (NetworkModel{1e5, 0.8}));
    for (const char* wrong :
         {"", "100us", "1GB/s", "+1GB/s", "100us+GB/s", "100us+0GB/s", "100us+1GB", "x+1GB/s"})
        EXPECT_THROW(parse_network_model(wrong), Error) << wrong;
    EXPECT_EQ(network_model_through({100}, 60, {1100}, 560), (NetworkModel{10, 0.5}));
    EXPECT_EQ(network_model_through({100}, 60, {1100}, 50), (NetworkModel{60, 0}));
}

}  // namespace
}  // namespace tutti
