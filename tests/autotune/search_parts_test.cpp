// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "autotune/search/gap_model.hpp"
#include "autotune/search/sample_log.hpp"
#include "autotune/search/search_state.hpp"
#include "autotune/search/search_steps.hpp"

namespace tutti {
namespace {

std::vector<Arm> grid(int segments, int channels) {
    std::vector<Arm> arms = {{.family = 9, .level = {}}};
    for (int segment = 0; segment < segments; ++segment)
        for (int channel = 0; channel < channels; ++channel)
            arms.push_back({.family = 4, .level = {segment, channel, 0}});
    return arms;
}

TEST(Families, KnowTheNeighboursOfAVariant) {
    const Families families(grid(5, 3));  // arm 1 + 3 * segment + channel
    EXPECT_EQ(families.count(), 2U);
    EXPECT_FALSE(families.has_parameters(families.of(0)));
    EXPECT_EQ(families.middle(1), 1 + 3 * 2 + 1);
    EXPECT_EQ(families.between(1 + 3 * 0 + 0, 1 + 3 * 4 + 2), 1 + 3 * 2 + 1);
    EXPECT_EQ(families.scale_through(1 + 3 * 2 + 1, 0), (std::vector<int>{2, 5, 8, 11, 14}));
    EXPECT_EQ(families.scale_through(1 + 3 * 2 + 1, 1), (std::vector<int>{7, 8, 9}));
    EXPECT_EQ(families.scale_through(8, 2), std::vector<int>{8});
}

constexpr int three[] = {0, 1, 2};
constexpr int two[] = {0, 1};

TEST(SampleLog, RemovesTheNoiseThatARaceShares) {
    SampleLog log(1, 3);
    log.add(0, three, {{100, 100}, {120, 120}, {140, 140}});
    log.add(0, two, {{150, 150}, {180, 180}});  // the machine is 1.5 times as slow
    EXPECT_NEAR(log.gap(0, 2, 0), std::log(1.4), 0.01);
    EXPECT_NEAR(log.gap(0, 1, 0), std::log(1.2), 1e-9);
    EXPECT_EQ(log.leader(0), 0);
}

TEST(SampleLog, OneLuckyStartDoesNotPullLaterRacesDown) {
    // Arm 0 started with luck, one_arm; noise is of the same size as the luck.
    SampleLog log(1, 3);
    log.add(0, three, {{80, 100}, {100, 125}, {130, 160}});
    const int one_arm[] = {0};
    log.add(0, one_arm, {{110, 125, 110, 125, 115}});
    EXPECT_GT(*log.level(0, 0), std::log(100));
}

TEST(SampleLog, BearsOutliers) {
    SampleLog log(1, 2);
    log.add(0, two, {{300, 100}, {110, 110}});  // the larger of two samples was disturbed
    EXPECT_EQ(log.leader(0), 0);
    log.add(0, two, {{100, 400, 100}, {110, 110, 900}});
    EXPECT_NEAR(log.gap(0, 1, 0), std::log(1.1), 0.02);
}

TEST(SampleLog, IsUnsureOfAnArmThatIsAsOftenSlowAsFast) {
    SampleLog log(1, 2);
    log.add(0, two, {{100, 101, 100, 101}, {90, 300, 91, 301}});
    EXPECT_GT(log.gap_error(0, 1, 0), 0.5);
}

TEST(GapEstimate, DoubtIsTheExpectedLoss) {
    // E[max(0, -X)] of a normal X is error / sqrt(2 pi) where its mean is 0.
    EXPECT_NEAR((GapEstimate{.gap = 0, .error = 0.1}.doubt()), 0.1 * 0.398942, 1e-6);
    EXPECT_LT((GapEstimate{.gap = 0.5, .error = 0.1}.doubt()), 1e-6);
    // One error away: error (phi(1) - Phi(-1)).
    EXPECT_NEAR((GapEstimate{.gap = 0.1, .error = 0.1}.doubt()), 0.1 * (0.241971 - 0.158655), 1e-6);
}

class TrendOverSizes : public testing::Test {
protected:
    // Arm 1 is 10 % slower everywhere, which many samples say at 8 and 32 bytes; at 16 bytes there
    // are two, and they say the contrary.
    void SetUp() override {
        for (const std::size_t size : {0U, 2U}) {
            std::vector<std::vector<double>> samples(2);
            for (int i = 0; i < 20; ++i) {
                samples[0].push_back(100 * (1 + 0.01 * (i % 20)));
                samples[1].push_back(110 * (1 + 0.01 * (i * 7 % 20)));
            }
            log.add(size, two, samples);
        }
        log.add(1, two, {{104, 114}, {99, 109}});
    }
    SampleLog log{3, 2};
    std::vector<Bytes> sizes = {Bytes{8}, Bytes{16}, Bytes{32}};
};

TEST_F(TrendOverSizes, NeighboursLendTheirSamples) {
    EXPECT_EQ(log.leader(1), 1);
    EXPECT_EQ(GapModel(log, sizes).leader(1), 0);
    EXPECT_LT(GapModel(log, sizes).gap(1, 1, 0).error, log.gap_error(1, 1, 0));
}

// Two algorithms without parameters, and no model. Nothing races by itself: the log is filled by
// the test.
class TwoAlgorithms : public Evaluator {
public:
    std::span<const Arm> arms() const override { return arms_; }
    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override {
        std::vector<std::vector<double>> samples;
        for (const int arm : arms) {
            const double ns = arm == 0 ? 100 : size == Bytes{8} ? at_8_ : at_32K_;
            samples.emplace_back(repetitions, ns);
        }
        return samples;
    }
    std::optional<double> predicted_ns(int, Bytes) const override { return std::nullopt; }
    bool is_over() const override { return false; }

    void second_takes(double at_8, double at_32K) {
        at_8_ = at_8;
        at_32K_ = at_32K;
    }

private:
    std::vector<Arm> arms_ = {{.family = 0}, {.family = 1}};
    double at_8_ = 0, at_32K_ = 0;
};

// Returns the candidates at 512 bytes, halfway between 8 bytes and 32 KiB in octaves, where the
// first one takes 100 ns. A family may be slower by 1 + 0.2 * 12 octaves there, that is 3.4 times.
std::vector<int> candidates_at_512(double at_8, double at_32K) {
    const std::vector<Bytes> sizes{{8}, {512}, {32768}};
    const std::vector<int> both{0, 1};
    TwoAlgorithms evaluator;
    evaluator.second_takes(at_8, at_32K);
    SearchOptions options;
    options.bracket_slack_per_octave = 0.2;
    SearchState state(evaluator, sizes, options);
    state.race(0, both, 5);
    state.race(2, both, 5);
    return candidates_at(state, 1);
}

TEST(CandidatesBetween, LeaveOutWhatNoInterpolationBringsNear) {
    EXPECT_EQ(candidates_at_512(2000, 2000), std::vector<int>{0});
}

// From 101 to 4000 ns: 6.4 times slower along a logarithm, 1.6 times along a straight line.
TEST(CandidatesBetween, KeepWhatAStraightLineBringsNear) {
    EXPECT_EQ(candidates_at_512(101, 4000), (std::vector<int>{0, 1}));
}

// From 1000 to 101 ns: 3.2 times slower along a logarithm, 9.9 times along a straight line.
TEST(CandidatesBetween, KeepWhatALogarithmBringsNear) {
    EXPECT_EQ(candidates_at_512(1000, 101), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace tutti
