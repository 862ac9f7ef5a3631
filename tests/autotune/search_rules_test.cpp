// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autotune/search/search.hpp"
#include "base/index.hpp"
#include "counting_evaluator.hpp"
#include "tests/autotune/model_subjects.hpp"

namespace tutti {
namespace {

constexpr Weather calm{.noise = 0.02, .outliers = 0, .drift = 0, .model_error = -1};

Arm plain(int family) { return {.family = family, .level = {}}; }

std::set<Bytes> sizes_raced_by(int arm, const std::vector<Finding>& findings) {
    std::set<Bytes> sizes;
    for (const Finding& finding : findings)
        for (const Evidence& evidence : finding.entries)
            if (evidence.arm == arm) sizes.insert(finding.size);
    return sizes;
}

TEST(Search, AnArmThatIsBadForSmallMessagesMayWinLargeOnes) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), LatencyAndBandwidth{.latency_ns = 1000, .ns_per_byte = 1});
    machine.add(plain(1), LatencyAndBandwidth{.latency_ns = 20000, .ns_per_byte = 0.1});
    // They meet at 19000 / 0.9 = 21111 bytes.
    for (const Finding& finding : search(machine, twenty_sizes(), {}))
        EXPECT_EQ(finding.winner, finding.size < Bytes{21111} ? 0 : 1) << finding.size.count;
}

TEST(Search, AnArmThatLosesAtBothEndsIsNotTriedBetweenThem) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), LatencyAndBandwidth{.latency_ns = 1000, .ns_per_byte = 1});
    machine.add(plain(1), LatencyAndBandwidth{.latency_ns = 20000, .ns_per_byte = 0.1});
    machine.add(plain(2), LatencyAndBandwidth{.latency_ns = 80000, .ns_per_byte = 5});
    const std::vector<Finding> findings = search(machine, twenty_sizes(), {});
    EXPECT_EQ(sizes_raced_by(2, findings), (std::set<Bytes>{Bytes{8}, Bytes{4 << 20}}));
}

TEST(Search, AnArmThatOnlyRunsBetweenTheAnchorsIsFound) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), LatencyAndBandwidth{.latency_ns = 1000, .ns_per_byte = 1});
    machine.add(
        plain(1),
        LatencyAndBandwidth{
            .latency_ns = 500, .ns_per_byte = 0.1, .least = Bytes{1024}, .most = Bytes{65536}});
    for (const Finding& finding : search(machine, twenty_sizes(), {}))
        EXPECT_EQ(finding.winner, finding.size >= Bytes{1024} && finding.size <= Bytes{65536});
}

TEST(Search, AJumpAtAChangeOfProtocolIsFoundWithoutAModel) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), [](Bytes size) { return size <= eager_limit ? 1000 : 9000; });
    machine.add(plain(1), [](Bytes) { return 5000; });
    machine.add(plain(2), [](Bytes) { return 90000; });
    for (const Finding& finding : search(machine, twenty_sizes(), {}))
        EXPECT_EQ(finding.winner, finding.size <= eager_limit ? 0 : 1);
}

TEST(Search, SizesBetweenTwoThatOneArmLeadsClearlyAreTakenOver) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), LatencyAndBandwidth{.latency_ns = 1000, .ns_per_byte = 1});
    machine.add(plain(1), LatencyAndBandwidth{.latency_ns = 2000, .ns_per_byte = 2});
    int taken_over = 0;
    for (const Finding& finding : search(machine, twenty_sizes(), {})) {
        EXPECT_EQ(finding.winner, 0);
        EXPECT_EQ(finding.measured, !finding.entries.empty());
        taken_over += !finding.measured;
    }
    EXPECT_GE(taken_over, 7);
}

TEST(Search, GoesDownTheScalesOfAFinalist) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), [](Bytes) { return 1500; });
    // A valley with its environment, 1000 ns, at levels 4 and 2 of 0..7 and 0..3.
    std::vector<Arm> family;
    for (int segment = 0; segment < 8; ++segment)
        for (int channel = 0; channel < 4; ++channel) {
            const double ns = 1000 + 150 * std::abs(segment - 4) + 250 * std::abs(channel - 2);
            family.push_back({.family = 1, .level = {segment, channel, 0}});
            machine.add(family.back(), [ns](Bytes) { return ns; });
        }
    const std::vector<Bytes> one_size = {Bytes{65536}};
    const std::vector<Finding> findings = search(machine, one_size, {});
    ASSERT_GT(findings[0].winner, 0);
    EXPECT_EQ(at(machine.arms(), findings[0].winner), (Arm{.family = 1, .level = {4, 2, 0}}));
    EXPECT_LE(findings[0].entries.size(), family.size() / 2);
}

TEST(Search, AGoodModelSparesTheHopelessTheirLargestSizes) {
    ModelMachine machine;
    Weather weather = calm;
    weather.model_error = 0.1;
    machine.set(weather);
    for (int i = 0; i < 6; ++i)
        machine.add(plain(i),
                    LatencyAndBandwidth{.latency_ns = 1000.0 + 200 * i, .ns_per_byte = 0.1});
    machine.add(plain(6),
                LatencyAndBandwidth{.latency_ns = 1000, .ns_per_byte = 10});  // 100 times slower
    EXPECT_EQ(sizes_raced_by(6, search(machine, twenty_sizes(), {})).count(Bytes{4 << 20}), 0U);

    weather.model_error = -1;
    machine.set(weather);
    EXPECT_EQ(sizes_raced_by(6, search(machine, twenty_sizes(), {})).count(Bytes{4 << 20}), 1U);
}

TEST(Search, AGoodModelSparesFamiliesThatLoseAtBothEndsTheSizesBetween) {
    ModelMachine machine;
    Weather weather = calm;
    weather.model_error = 0.05;
    machine.set(weather);
    for (int i = 0; i < 6; ++i)
        machine.add(plain(i),
                    LatencyAndBandwidth{.latency_ns = 1000.0 + 200 * i, .ns_per_byte = 0.1});
    // It loses by a factor of three, which is too little for interpolation over 19 octaves.
    machine.add(plain(6), LatencyAndBandwidth{.latency_ns = 3000, .ns_per_byte = 0.3});
    const std::set<Bytes> anchors{Bytes{8}, Bytes{4 << 20}};
    for (const Bytes size : sizes_raced_by(6, search(machine, twenty_sizes(), {})))
        EXPECT_TRUE(anchors.contains(size)) << size.count;

    weather.model_error = -1;
    machine.set(weather);
    EXPECT_GT(sizes_raced_by(6, search(machine, twenty_sizes(), {})).size(), anchors.size());
}

TEST(Search, AGoodModelSparesNeighboursOnAScaleThatItPutsFarAbove) {
    ModelMachine machine;
    Weather weather = calm;
    weather.model_error = 0.05;
    machine.set(weather);
    for (int i = 0; i < 4; ++i) machine.add(plain(i), [i](Bytes) { return 1500 + 100 * i; });
    for (int segment = 0; segment < 8; ++segment)
        machine.add({.family = 4, .level = {segment}},
                    [segment](Bytes) { return 1000 * std::pow(2, std::abs(segment - 4)); });
    const std::vector<Bytes> one_size = {Bytes{65536}};
    const auto races = [&] { return search(machine, one_size, {})[0].entries.size(); };
    const std::size_t with_model = races();
    EXPECT_EQ(search(machine, one_size, {})[0].winner, 8);
    weather.model_error = -1;
    machine.set(weather);
    EXPECT_LT(with_model, races());
}

/// Says that the arm that is best for large messages were a hundred times slower than it is.
class WrongModel : public ModelMachine {
public:
    std::optional<double> predicted_ns(int arm, Bytes size) const override {
        // The errors of the others are e^-1.5 to e^1.5, as the search can see at its first anchor.
        constexpr double errors[] = {100, 0.22, 0.5, 1, 2, 4.5};
        return *truth(arm, size) * errors[arm];
    }
};

TEST(Search, AModelThatProvedWrongDropsNothing) {
    WrongModel machine;
    machine.set(calm);
    machine.add(plain(0), LatencyAndBandwidth{.latency_ns = 20000, .ns_per_byte = 0.02});
    for (int i = 1; i < 6; ++i)
        machine.add(plain(i), LatencyAndBandwidth{.latency_ns = 1000.0 + 200 * i,
                                                  .ns_per_byte = 0.1 + 0.05 * i});
    // The others' best, arm 1, is met at 18800 / 0.13 = 144615 bytes.
    for (const Finding& finding : search(machine, twenty_sizes(), {}))
        EXPECT_EQ(finding.winner, finding.size < Bytes{144615} ? 1 : 0) << finding.size.count;
}

TEST(Search, EndsAtAnyMomentWithAWinnerForEverySize) {
    const std::vector<Bytes> sizes = twenty_sizes();
    ModelMachine whole = planted_machine(12, 1, 5);
    search(whole, sizes, {});
    for (double share = 1e-6; share < 1.1; share = share * 1.3 + 1e-4) {
        ModelMachine machine = planted_machine(12, 1, 5);
        machine.end_after(share * whole.seconds());
        const std::vector<Finding> findings = search(machine, sizes, {});
        ASSERT_EQ(findings.size(), sizes.size());
        for (const Finding& finding : findings) EXPECT_GE(finding.winner, 0) << share;
    }
    ModelMachine machine = planted_machine(12, 1, 5);
    machine.end_after(0);
    for (const Finding& finding : search(machine, sizes, {})) EXPECT_EQ(finding.winner, -1);
}

TEST(Search, NeedsNeitherManyArmsNorManySizes) {
    ModelMachine machine;
    const std::vector<Bytes> one_size = {Bytes{0}};
    EXPECT_TRUE(search(machine, one_size, {}).empty());
    machine.add(plain(0), [](Bytes) { return 100; });
    EXPECT_TRUE(search(machine, {}, {}).empty());
    EXPECT_EQ(search(machine, one_size, {}).at(0).winner, 0);
    for (const Finding& finding : search(machine, twenty_sizes(), {})) EXPECT_EQ(finding.winner, 0);
}

TEST(Search, ASizeThatNoArmCanRunHasNoWinner) {
    ModelMachine machine;
    machine.add(plain(0), [](Bytes) { return std::optional<double>(); });
    for (const Finding& finding : search(machine, twenty_sizes(), {}))
        EXPECT_EQ(finding.winner, -1);
}

TEST(Search, ReportsItsProgress) {
    ModelMachine machine = planted_machine(8, 1, 2);
    std::vector<double> shares;
    SearchOptions options;
    options.progress = [&](const SearchProgress& progress) {
        EXPECT_GE(progress.winner, 0);
        shares.push_back(progress.share);
    };
    search(machine, twenty_sizes(), options);
    ASSERT_GT(shares.size(), 20U);
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_EQ(shares.front(), 0);
    EXPECT_GT(shares.back(), 0.7);
    EXPECT_LE(shares.back(), 1);
}

TEST(SearchExhaustively, RacesEveryArmAtEverySize) {
    ModelMachine machine;
    machine.set(calm);
    machine.add(plain(0), LatencyAndBandwidth{.latency_ns = 1000, .ns_per_byte = 1});
    machine.add(plain(1), LatencyAndBandwidth{.latency_ns = 20000, .ns_per_byte = 0.1});
    const std::vector<Finding> findings = search_exhaustively(machine, twenty_sizes(), 7);
    EXPECT_EQ(machine.samples(), 20 * 2 * 7);
    EXPECT_EQ(findings.front().winner, 0);
    EXPECT_EQ(findings.back().winner, 1);
    EXPECT_EQ(findings.back().entries[0].arm, 1);
}

}  // namespace
}  // namespace tutti
