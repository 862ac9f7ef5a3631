// SPDX-License-Identifier: Apache-2.0
// The error rates of whole comparisons, on simulated machines with fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "results/comparison/quad_loop.hpp"
#include "results/comparison/staged_comparison.hpp"

namespace tutti {
namespace {

/// How the logarithms of times vary.
struct NoisyMachine {
    double between = 0.01;  ///< deviation of the change between launches
    double within = 0.01;   ///< deviation of a block
    double drift = 0;       ///< growth from one block to the next
    double disturbed = 0;   ///< share of blocks that take 20 % to 50 % longer
    double swing = 0;       ///< slow oscillation of the change over the launches
    int quads = 8;          ///< per launch
    double launch_seconds = 1;
};

class Simulation {
public:
    Simulation(const NoisyMachine& machine, double change, unsigned seed)
        : machine_(machine), change_(std::log1p(change)), random_(seed) {}

    /// Compares in a minute.
    ComparisonResult compare_once(int metrics, double min_effect) {
        seconds_ = 0;
        return compare(
            [&](const WantedMetrics& wanted) { return launch(wanted, metrics); },
            {.rule = {.min_effect = min_effect},
             .now_ns = [&] { return static_cast<std::int64_t>(seconds_ * 1e9) + 1000; }},
            {.progress = [](const std::string&) {}, .after_launch = [](const StagedLaunch&) {}});
    }

private:
    LaunchOfBoth launch(const WantedMetrics& wanted, int metrics) {
        seconds_ += machine_.launch_seconds;
        LaunchOfBoth both;
        for (int number = 0; number < metrics; ++number) {
            const std::string name = std::to_string(number);
            if (!wanted.contain(name)) continue;
            both.order.push_back(name);
            both.metrics[name] = metric();
        }
        return both;
    }

    LaunchOfMetric metric() {
        const double change =
            change_ + machine_.between * normal_(random_) + machine_.swing * std::sin(seconds_ / 7);
        std::vector<Quad> quads;
        int block = 0;
        for (QuadLoop loop({.exactly = machine_.quads}); loop.goes_on();)
            quads.push_back(loop.quad([&](Side side) {
                double log = machine_.within * normal_(random_) + machine_.drift * block++;
                if (chance_(random_) < machine_.disturbed) log += 0.2 + 0.3 * chance_(random_);
                return 1000 * std::exp(log + (side == Side::b ? change : 0));
            }));
        return summary_of(quads).value();
    }

    NoisyMachine machine_;
    double change_;
    double seconds_ = 0;
    std::mt19937 random_;
    std::normal_distribution<double> normal_{0, 1};
    std::uniform_real_distribution<double> chance_{0, 1};
};

struct Counts {
    int slower = 0, faster = 0, same = 0, comparisons_with_alarm = 0;
};

Counts verdicts(const NoisyMachine& machine, double change, double min_effect, int trials,
                int metrics = 1) {
    Simulation simulation(machine, change, 1);
    Counts counts;
    for (int trial = 0; trial < trials; ++trial) {
        bool is_alarm = false;
        for (const auto& result : simulation.compare_once(metrics, min_effect).metrics) {
            const Change found = result.judgement.change;
            counts.slower += found == Change::slower;
            counts.faster += found == Change::faster;
            counts.same += found == Change::same;
            is_alarm = is_alarm || found == Change::slower || found == Change::faster;
        }
        counts.comparisons_with_alarm += is_alarm;
    }
    return counts;
}

// The minimum effect is far below the spread of these machines, so only the level of the tests
// keeps them from alarms: two of a thousand comparisons.
TEST(Verdicts, OfEqualProgramsAreHardlyEverAChange) {
    int alarms = 0;
    for (const NoisyMachine& machine :
         {NoisyMachine{.between = 0.05, .within = 0.03, .quads = 2},
          NoisyMachine{.between = 0.02, .within = 0.02, .drift = 0.001, .quads = 2},
          NoisyMachine{.between = 0.02, .within = 0.02, .disturbed = 0.15, .quads = 2},
          NoisyMachine{.between = 0.01, .within = 0.02, .swing = 0.01, .quads = 2}})
        alarms += verdicts(machine, 0, 0.001, 200).comparisons_with_alarm +
                  verdicts(machine, 0, 0.001, 25, 4).comparisons_with_alarm;
    EXPECT_LE(alarms, 4);
}

TEST(Verdicts, OfEqualProgramsOnAQuietMachineAreTheSame) {
    const Counts counts = verdicts({}, 0, 0.01, 100);
    EXPECT_EQ(counts.same, 100);
}

TEST(Verdicts, SeeAPlantedPercentInAMinute) {
    EXPECT_GE(verdicts({.quads = 4}, 0.01, 0.005, 100).slower, 95);
    EXPECT_GE(verdicts({.quads = 4}, -0.01, 0.005, 50).faster, 47);
}

TEST(Verdicts, SeeThreePercentOnABusyMachineInAMinute) {
    const NoisyMachine busy{
        .between = 0.04, .within = 0.03, .disturbed = 0.1, .launch_seconds = 0.6};
    EXPECT_GE(verdicts(busy, 0.03, 0.015, 60).slower, 54);
}

}  // namespace
}  // namespace tutti
