// SPDX-License-Identifier: Apache-2.0
#include "results/records/limits.hpp"

#include <gtest/gtest.h>

#include "samples.hpp"

namespace tutti {
namespace {

std::string complaint_about_file(const std::filesystem::path& path) {
    return refusal_by([&] { read_limits(path); });
}

}  // namespace

TEST(Rates, LieBetweenTheirNeighboursByTheLogarithmOfTheSize) {
    const Rates rates{{Bytes{1 << 10}, Bytes{1 << 14}}, {10, 50}};
    EXPECT_DOUBLE_EQ(rates.at({1 << 10}), 10);
    EXPECT_DOUBLE_EQ(rates.at({1 << 12}), 30);
    EXPECT_DOUBLE_EQ(rates.at({1 << 14}), 50);
}

TEST(Rates, StayAsTheyAreBeyondTheirEnds) {
    const Rates rates{{Bytes{1 << 10}, Bytes{1 << 14}}, {10, 50}};
    EXPECT_DOUBLE_EQ(rates.at({1}), 10);
    EXPECT_DOUBLE_EQ(rates.at({1 << 30}), 50);
    EXPECT_DOUBLE_EQ(Rates{}.at({1}), 0);
}

TEST(Limits, HandOverIsThatOfTheNearestPair) {
    Limits limits = sample_limits();
    limits.signal_latencies.push_back({Rank{0}, Rank{2}, 30, 90});
    EXPECT_DOUBLE_EQ(limits.one_way_ns(), 30);
    EXPECT_DOUBLE_EQ(limits.exchange_ns(), 60);
    EXPECT_DOUBLE_EQ(Limits{}.one_way_ns(), 0);
}

TEST(StreamFrom, IsWhereStreamingBeginsToWinForGood) {
    const auto from = [](std::vector<double> streaming) {
        std::vector<StreamTrial> trials;
        for (std::size_t i = 0; i < streaming.size(); ++i)
            trials.push_back({.bytes = {1 << i}, .cached_ns = 100, .streaming_ns = streaming[i]});
        return stream_from(trials);
    };
    EXPECT_EQ(from({200, 200, 90, 50}), Bytes{4});
    EXPECT_EQ(from({200, 200, 98, 50}), Bytes{8});  // not clearly
    EXPECT_EQ(from({200, 90, 103, 50}), Bytes{2});  // nor clearly slower
    EXPECT_EQ(from({200, 90, 110, 50}), Bytes{8});  // won by chance
    EXPECT_GT(from({200, 200, 100, 100}), Bytes{1 << 30});
    EXPECT_GT(from({50, 50, 50, 200}), Bytes{1 << 30});
    EXPECT_GT(from({}), Bytes{1 << 30});
}

TEST(Limits, OfSeveralRunsAreTheBestOfEachFigure) {
    Limits now = sample_limits(), before = sample_limits();
    now.signal_latencies[0].one_way_ns = 200;
    now.curves[0].rates.gbps[0] = 1;
    now.curves[0].rates.gbps[1] = 1000;
    now.yield_ns = 0;  // not measured
    now.stream_trials = {{{1 << 20}, 90, 200}, {{2 << 20}, 150, 210}};
    const Limits best = best_of(now, before);
    EXPECT_EQ(best.signal_latencies, before.signal_latencies);
    EXPECT_EQ(best.curves[0].rates.gbps[0], before.curves[0].rates.gbps[0]);
    EXPECT_EQ(best.curves[0].rates.gbps[1], 1000);
    EXPECT_EQ(best.yield_ns, before.yield_ns);
    EXPECT_EQ(best.stream_trials[1], (StreamTrial{{2 << 20}, 150, 200}));
    EXPECT_GT(best.stream_from, Bytes{2 << 20});  // streaming is no better than the best otherwise
    before.kernels = "scalar";
    EXPECT_EQ(best_of(now, before), now);
    before.kernels = now.kernels;
    before.topo_sha256 = "another host";
    EXPECT_EQ(best_of(now, before), now);
}

TEST(Limits, AreForTheirHostAndItsCoresOnly) {
    Limits kept = sample_limits();
    const std::string host = kept.topo_sha256;
    EXPECT_TRUE(are_for(kept, host, 1));
    EXPECT_TRUE(are_for(kept, host, 2));
    EXPECT_FALSE(are_for(kept, host, 3));
    EXPECT_FALSE(are_for(kept, host + "0", 2));
    std::erase_if(kept.curves, [](const Curve& curve) { return curve.pass == "add_rewritten"; });
    EXPECT_FALSE(are_for(kept, host, 2));
}

TEST(Limits, OfMoreCoresStayAndAreImprovedByThoseOfFewer) {
    const auto copy_rate = [](const Limits& limits, int cores) {
        return limits.curve("copy", "cached", cores)->rates.gbps[0];
    };
    Limits two = sample_limits();
    Limits four = two;
    four.cores = 4;
    for (Curve& curve : four.curves) curve.cores = curve.cores == 2 ? 4 : 1;
    for (Limits* limits : {&two, &four})
        for (Curve& curve : limits->curves)
            if (curve.pass == "copy") curve.rates.gbps[0] = limits->cores * 100. + curve.cores;
    two.signal_latencies[0].one_way_ns = 30;
    two.staged.gbps[0] = 1000;  // for another number of cores
    two.yield_ns = 900;
    for (const Limits& best : {best_of(two, four), best_of(four, two)}) {
        EXPECT_EQ(best.cores, 4);
        EXPECT_EQ(copy_rate(best, 4), 404);
        EXPECT_EQ(copy_rate(best, 1), 401);
        EXPECT_EQ(best.signal_latencies[0].one_way_ns, 30);
        EXPECT_EQ(best.staged, four.staged);
        EXPECT_EQ(best.yield_ns, 900);
    }
}

// Otherwise each launch on fewer cores would measure again, and keep limits without rewritten
// input.
TEST(Limits, OfMoreCoresThatKnowNoRewrittenInputAreReplaced) {
    const Limits now = sample_limits();
    Limits before = now;
    before.cores = 4;
    for (Curve& curve : before.curves) curve.cores = curve.cores == 2 ? 4 : 1;
    EXPECT_TRUE(know_rewritten_input(before));
    EXPECT_EQ(best_of(now, before).cores, 4);
    std::erase_if(before.curves, [](const Curve& curve) { return curve.pass == "add_rewritten"; });
    EXPECT_FALSE(know_rewritten_input(before));
    EXPECT_EQ(best_of(now, before), now);
}

TEST(Limits, OfOneNetworkAreTheBestOfEachFigure) {
    Limits now = sample_limits(), before = sample_limits();
    now.network->links[0].gbps = 0.2;
    now.network->links[0].latency_ns = 60'000;
    HostLink best = before.network->links[0];
    best.gbps = 0.2;
    EXPECT_EQ(best_of(now, before).network->links[0], best);
    before.network->hosts[1] = "another";
    EXPECT_EQ(best_of(now, before).network, now.network);
}

TEST(LimitsToKeep, AreNoneOfAMachineThatWasBusyButWhereTheyImproveWhatIsKept) {
    Limits quiet = sample_limits(), busy = sample_limits();
    busy.taken = 0.4;
    busy.yield_ns = 900;
    EXPECT_EQ(limits_to_keep(quiet, {}), quiet);
    EXPECT_EQ(limits_to_keep(busy, {}), std::nullopt);
    Limits improved = quiet;
    improved.yield_ns = 900;
    EXPECT_EQ(limits_to_keep(busy, quiet), improved);  // no other program used the cores
    Limits of_another_host = quiet;
    of_another_host.topo_sha256 = "another host";
    EXPECT_EQ(limits_to_keep(busy, of_another_host), std::nullopt);
    quiet.kernels = "scalar";
    EXPECT_EQ(limits_to_keep(busy, quiet), std::nullopt);
    Limits of_one_core = sample_limits();
    of_one_core.cores = 1;
    EXPECT_EQ(limits_to_keep(busy, of_one_core), std::nullopt);
    busy.taken = 0.02;
    EXPECT_EQ(limits_to_keep(busy, quiet), busy);
}

TEST(LimitsFile, IsReadAsItWasWritten) {
    const TemporaryFolder folder;
    const auto path = folder / "a";
    keep_limits(sample_limits(), path / "b" / "limits.json");
    EXPECT_EQ(read_limits(path / "b" / "limits.json"), sample_limits());
}

TEST(LimitsFile, IsReplacedAsAWhole) {
    const TemporaryFolder folder;
    Limits limits = sample_limits();
    keep_limits(limits, folder / "limits.json");
    limits.clock_ns = 7;
    keep_limits(limits, folder / "limits.json");
    EXPECT_EQ(read_limits(folder / "limits.json").clock_ns, 7);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
}

TEST(LimitsFile, ThatIsBrokenIsRefusedInOneLine) {
    const TemporaryFolder folder;
    const auto file = folder / "limits.json";
    EXPECT_TRUE(holds(complaint_about_file(file), "cannot read"));
    fill(file, "");
    EXPECT_TRUE(holds(complaint_about_file(file), "is empty"));
    fill(file, "GB/s 12\n");
    EXPECT_TRUE(holds(complaint_about_file(file), "not JSON"));
    fill(file, R"({"v":2,"kind":"limits"})");
    EXPECT_TRUE(holds(complaint_about_file(file), "schema version 2"));
    fill(file, to_json_line(sample_point()) + "\n");
    EXPECT_TRUE(holds(complaint_about_file(file), "holds no limits"));
    fill(file, to_json_line(sample_limits()).substr(0, 300));
    EXPECT_TRUE(holds(complaint_about_file(file), "not JSON"));
    Limits uneven = sample_limits();
    uneven.curves[0].rates.gbps.pop_back();
    Limits incomplete = sample_limits();
    incomplete.curves.erase(incomplete.curves.begin());
    Limits large = sample_limits();
    for (Curve& curve : large.curves) curve.cores = large.cores = 1 << 30;
    Limits far_away = sample_limits();
    far_away.network->links[0].b = 2;
    for (const Limits& senseless : {uneven, incomplete, large, far_away}) {
        fill(file, to_json_line(senseless) + "\n");
        EXPECT_TRUE(holds(complaint_about_file(file), "impossible limits"));
    }
}

TEST(LimitsFile, SaysWhyItCannotBeWritten) {
    const auto write = [] { keep_limits(sample_limits(), "/dev/null/limits.json"); };
    EXPECT_TRUE(holds(thrown_by(write).text, "the limits"));
}

TEST(LimitsFile, LiesInTheUsersCache) {
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", "/c", 1), 0);
    EXPECT_EQ(limits_path("f"), "/c/tutti/limits-f.json");
    ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
    ASSERT_EQ(::setenv("HOME", "/h", 1), 0);
    EXPECT_EQ(limits_path("f"), "/h/.cache/tutti/limits-f.json");
    ASSERT_EQ(::unsetenv("HOME"), 0);
    EXPECT_EQ(limits_path("f"), std::nullopt);
}

TEST(HostNetwork, TakesTheBestThatLeftAHostOrCameToIt) {
    const HostNetwork network{
        .hosts = {"a", "b", "c"},
        .links = {{.a = 0,
                   .b = 1,
                   .latency_ns = 9,
                   .gbps = 1,
                   .back_gbps = 2,
                   .both_gbps = 0.5,
                   .burst = {10}},
                  {.a = 1, .b = 2, .latency_ns = 5, .gbps = 3, .back_gbps = 4}},
        .all_gbps = 1.5};
    EXPECT_EQ(network.out_gbps(0), 1.5);
    EXPECT_EQ(network.in_gbps(0), 2);
    EXPECT_EQ(network.out_gbps(1), 3);
    EXPECT_EQ(network.in_gbps(1), 4);
    EXPECT_EQ(network.out_gbps(2), 4);
    EXPECT_EQ(network.latency_ns(0), 9);
    EXPECT_EQ(network.latency_ns(1), 5);
    EXPECT_EQ(network.burst(1), Bytes{10});
    EXPECT_EQ(network.burst(2), Bytes{0});
}

}  // namespace tutti
