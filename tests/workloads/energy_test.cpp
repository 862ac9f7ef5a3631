// SPDX-License-Identifier: Apache-2.0
// Energy by meters that the calls themselves turn: what a call takes is known beforehand.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/topology/fixture_tree.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr int joules_of_call = 7, range_of_meter = 100;  // it goes round every 15 calls

class FakePackage {
public:
    FakePackage(const FixtureTree& tree, int number)
        : tree_(tree), zone_("sys/class/powercap/intel-rapl:" + std::to_string(number) + "/") {
        tree.write(zone_ + "name", "package-" + std::to_string(number));
        tree.write(zone_ + "max_energy_range_uj", std::to_string(range_of_meter * 1'000'000));
        use(number);
    }
    void use(int joules) {
        shown_ = (shown_ + joules) % range_of_meter;
        tree_.write(zone_ + "energy_uj", std::to_string(shown_ * 1'000'000));
    }

private:
    const FixtureTree& tree_;
    std::string zone_;
    int shown_ = 0;
};

// Sleeps, so that it is never shorter.
class TurnsMeters final : public Operation {
public:
    TurnsMeters(std::vector<FakePackage>& packages, bool is_first, std::int64_t ns)
        : packages_(packages), is_first_(is_first), ns_(ns) {}
    void run() override {
        std::this_thread::sleep_for(std::chrono::nanoseconds(ns_));
        if (!is_first_) return;
        for (FakePackage& package : packages_) package.use(joules_of_call);
    }

private:
    std::vector<FakePackage>& packages_;
    bool is_first_;
    std::int64_t ns_;
};

// On two ranks of one host.
Measured measured_with(const FixtureTree& tree, std::vector<FakePackage> packages,
                       std::int64_t call_ns, Trial trial = {}, int samples = 30) {
    Measured first;
    run_as_threads(2, 60, [&](World& world) {
        const HostMeters meters(world, tree.root());
        TurnsMeters operation(packages, world.is_first(), call_ns);
        Protocol protocol;
        protocol.fixed_samples = samples;
        protocol.sync = Protocol::Sync::barrier;
        protocol.meters = &meters;
        std::vector<Trial> trials{trial};
        trials[0].operation = &operation;
        const auto measured = measure(world, trials, protocol);
        if (world.is_first()) first = measured[0];
    });
    return first;
}

}  // namespace

TEST(Energy, OfACallIsWhatThePackagesUsedInIt) {
    const FixtureTree tree;
    const Measured measured =
        measured_with(tree, {FakePackage(tree, 0), FakePackage(tree, 1)}, 6 * ms);
    ASSERT_TRUE(measured.energy_J);
    EXPECT_DOUBLE_EQ(*measured.energy_J, 2 * joules_of_call);
    EXPECT_FALSE(measured.gpu_energy_J);
    ASSERT_EQ(measured.power.size(), 2u);
    EXPECT_EQ(measured.power[1].meter, "package-1");
    EXPECT_GT(measured.power[1].watts, 0);
    EXPECT_LT(measured.power[1].watts, joules_of_call / 0.006);  // a call took longer than 6 ms
}

// One run of a graph is several calls.
TEST(Energy, OfARunOfSeveralCallsIsSharedAmongThem) {
    const FixtureTree tree;
    const Measured measured =
        measured_with(tree, {FakePackage(tree, 0)}, 6 * ms, {.calls_of_run = 4});
    EXPECT_DOUBLE_EQ(measured.energy_J.value(), joules_of_call / 4.0);
}

TEST(Energy, OfCallsThatAreTooFewIsNotGiven) {
    const FixtureTree tree;
    const Measured measured = measured_with(tree, {FakePackage(tree, 0)}, 6 * ms, {}, 1);
    EXPECT_FALSE(measured.energy_J);
    EXPECT_TRUE(measured.power.empty());
}

TEST(Energy, IsReadWhereABatchIsFiveTimesAsLongAsAStepOfTheMeter) {
    const FixtureTree tree;
    const FakePackage package(tree, 0);
    run_as_threads(2, 60, [&](World& world) {
        const HostMeters meters(world, tree.root());
        EXPECT_TRUE(meters.any());  // on the other rank, too
        EXPECT_EQ(meters.mine() != nullptr, world.is_first());
        EXPECT_EQ(meters.most_period_ns(5 * ms - 1), 0);
        EXPECT_EQ(meters.most_period_ns(5 * ms), ms);
    });
}

TEST(Energy, IsNotCountedWithoutMeters) {
    const FixtureTree tree;
    const Measured measured = measured_with(tree, {}, 6 * ms);
    EXPECT_FALSE(measured.energy_J);
    run_as_threads(2, 60,
                   [&](World& world) { EXPECT_FALSE(HostMeters(world, tree.root()).any()); });
}

}  // namespace tutti
