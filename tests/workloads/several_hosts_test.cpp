// SPDX-License-Identifier: Apache-2.0
// Measurements on several hosts see diverging clocks, energy, and bytes of the network.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/collectives/hosts_of_threads.hpp"
#include "tests/topology/fixture_tree.hpp"
#include "workloads/timing/batch.hpp"
#include "workloads/timing/batch_counters.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

using std::chrono::milliseconds;

// A sample of such calls takes longer than clocks of one machine differ.
class ShortCall final : public Operation {
public:
    void run() override {
        constexpr double ns = 5000;
        const std::int64_t began = now_ns();
        while (ns_since(began) < ns) {
        }
    }
};

// The second host's clock is set ahead by `step_ns` after the first synchronization.
Start start_after_clock_step(Protocol::Sync sync, std::int64_t step_ns) {
    Start start = Start::back_to_back;
    run_as_hosts(2, [&](World& world) {
        world.oversubscribed = false;
        std::int64_t ahead_ns = 0;
        GlobalClock clock(world, world.hosts(), [&] { return now_ns() + ahead_ns; });
        ShortCall operation;
        std::vector<Trial> trials{{.operation = &operation}};
        Protocol protocol;
        protocol.fixed_samples = 2;
        protocol.warm_up_calls = protocol.warm_up_ns = 0;
        protocol.sync = sync;
        protocol.clock = &clock;
        if (!world.is_first()) ahead_ns = step_ns;
        const Measured measured = measure(world, trials, protocol).at(0);
        if (step_ns > 0) {
            EXPECT_GT(clock.residual_ns(), step_ns / 2);
        }
        if (world.is_first()) start = measured.start;
    });
    return start;
}

TEST(SeveralHosts, StartAtBarriersIfTheirClocksAreTooFarApart) {
    constexpr std::int64_t step_ns = 700'000'000;
    for (const auto sync : {Protocol::Sync::automatic, Protocol::Sync::back_to_back})
        EXPECT_EQ(start_after_clock_step(sync, step_ns), Start::barrier);
}

TEST(SeveralHosts, MeasureRowsOfCallsByACommonClock) {
    EXPECT_EQ(start_after_clock_step(Protocol::Sync::back_to_back, 0), Start::back_to_back);
}

// Each host is ahead of the one before by a second.
TEST(SeveralHosts, HaveBeginAndEndOfACallByOneClock) {
    run_as_hosts(3, [](World& world) {
        const std::int64_t ahead_ns = 1'000'000'000 * world.rank().index;
        GlobalClock clock(world, world.hosts(), [=] { return now_ns() + ahead_ns; });
        ShortCall operation;
        BatchRunner batches(world, Start::barrier, &clock);
        for (const CallTimes& call : batches.run(operation, {.samples = 3}))
            EXPECT_GE(call.end_ns, call.begin_ns);
    });
}

// The energy of one batch of five calls.
Measured measured_with_meters(bool second_host_has_one) {
    constexpr int calls = 5;
    constexpr int joules_of_host[] = {10, 20};
    Measured found;
    run_as_hosts(2, [&](World& world) {
        const FixtureTree tree;
        const int host = world.rank().index;
        const std::string zone = "sys/class/powercap/intel-rapl:0/";
        const bool has_meter = world.is_first() || second_host_has_one;
        if (has_meter) {
            tree.write(zone + "name", "package-0");
            tree.write(zone + "max_energy_range_uj", "1000000000");
            tree.write(zone + "energy_uj", "1000000");
        }
        const HostMeters meters(world, tree.root());
        EXPECT_TRUE(meters.any());  // on both hosts
        EnergyCounter energy(world, &meters);
        energy.begin(50'000'000);
        std::this_thread::sleep_for(milliseconds(60));
        if (has_meter)
            tree.write(zone + "energy_uj", std::to_string(1 + joules_of_host[host]) + "000000");
        energy.end(calls);
        Measured measured;
        energy.put_into(measured);
        if (!world.is_first()) found = measured;  // the same on all ranks
    });
    return found;
}

TEST(SeveralHosts, HaveTheEnergyOfAllOfThem) {
    const Measured measured = measured_with_meters(true);
    ASSERT_TRUE(measured.energy_J);
    EXPECT_DOUBLE_EQ(*measured.energy_J, (10 + 20) / 5.0);
    ASSERT_EQ(measured.power.size(), 2u);
    EXPECT_EQ(measured.power[0].host, 0);
    EXPECT_EQ(measured.power[1].host, 1);
    EXPECT_GT(measured.power[1].watts, 1.5 * measured.power[0].watts);
}

TEST(SeveralHosts, HaveNoEnergyIfOneOfThemHasNoMeter) {
    const Measured measured = measured_with_meters(false);
    EXPECT_FALSE(measured.energy_J);
    ASSERT_EQ(measured.power.size(), 1u);
    EXPECT_EQ(measured.power[0].host, 0);
}

// Counters of one interface.
void write_counters(const FixtureTree& tree, std::int64_t tx, std::int64_t rx) {
    tree.write("proc/net/dev", "Inter-|   Receive  |  Transmit\n face |bytes packets\n eth0: " +
                                   std::to_string(rx) + " 1 0 0 0 0 0 0 " + std::to_string(tx) +
                                   " 1 0 0 0 0 0 0\n");
}

// The first host sends little and receives less, the second one receives much: as in a gather.
TEST(SeveralHosts, CountTheBytesOfTheBusiestInBothDirections) {
    run_as_hosts(3, [](World& world) {
        constexpr struct { std::int64_t tx, rx; } moved[] = {{400, 100}, {60, 8000}, {7000, 10}};
        const auto [tx, rx] = moved[world.rank().index];
        const FixtureTree tree;
        write_counters(tree, 1000, 5000);
        NetworkByteCounter counter(world, tree.root());
        EXPECT_FALSE(counter.busiest());
        counter.begin();
        write_counters(tree, 1000 + tx, 5000 + rx);
        counter.end(10);
        const auto bytes = counter.busiest();
        ASSERT_TRUE(bytes);
        EXPECT_EQ(bytes->host, 1);
        EXPECT_EQ(bytes->tx_per_call, 6);
        EXPECT_EQ(bytes->rx_per_call, 800);
        ASSERT_EQ(bytes->interfaces.size(), 1u);
        EXPECT_EQ(bytes->interfaces[0].name, "eth0");
        EXPECT_EQ(bytes->interfaces[0].tx_per_call, 6);
        EXPECT_EQ(bytes->interfaces[0].rx_per_call, 800);
        // A second batch adds up; what is moved between batches does not count.
        write_counters(tree, 50'000, 50'000);
        counter.begin();
        write_counters(tree, 50'000 + tx, 50'000 + rx);
        counter.end(10);
        EXPECT_EQ(counter.busiest()->rx_per_call, 800);
        counter.forget();
        EXPECT_FALSE(counter.busiest());
    });
}

}  // namespace
}  // namespace tutti
