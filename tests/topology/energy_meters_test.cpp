// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/energy_meters.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {
namespace {

using Of = EnergyMeter::Of;
using Readings = std::vector<std::optional<std::int64_t>>;

const char* const no_driver = "/no/such/library.so.1";
constexpr std::int64_t ms = 1'000'000;

void write_zone(const FixtureTree& tree, const std::string& zone, const std::string& name,
                const std::string& energy) {
    const std::string folder = "sys/class/powercap/" + zone + "/";
    tree.write(folder + "name", name);
    tree.write(folder + "max_energy_range_uj", "262143328850");
    tree.write(folder + "energy_uj", energy);
}

std::vector<std::string> names_of(const EnergyMeters& meters) {
    std::vector<std::string> names;
    for (const EnergyMeter& meter : meters.all()) names.push_back(meter.name);
    return names;
}

}  // namespace

// Cores are included in their package, packages in psys, and intel-rapl-mmio repeats a package.
TEST(EnergyMeters, AreThoseOfPackagesAndTheirMemoryEachOnce) {
    const FixtureTree tree;
    write_zone(tree, "intel-rapl:0", "package-0", "100");
    write_zone(tree, "intel-rapl:0:0", "core", "40");
    write_zone(tree, "intel-rapl:0:1", "dram", "7");
    write_zone(tree, "intel-rapl:1", "package-1", "200");
    write_zone(tree, "intel-rapl:2", "psys", "1000");
    write_zone(tree, "intel-rapl-mmio:0", "package-0", "101");
    tree.write("sys/class/powercap/intel-rapl/enabled", "1");
    const EnergyMeters meters(tree.root(), no_driver);
    EXPECT_EQ(names_of(meters),
              (std::vector<std::string>{"package-0", "package-0 dram", "package-1"}));
    EXPECT_EQ(meters.all()[0],
              (EnergyMeter{Of::package, "package-0", /*period_ns=*/ms, 262'143'328'850}));
    EXPECT_EQ(meters.read_uj(5 * ms), (Readings{100, 7, 200}));
    EXPECT_FALSE(meters.packages_missing());
}

TEST(EnergyMeters, GoOnFrom0AtTheEndOfTheirRange) {
    const EnergyMeter meter{.range_uj = 1000};
    EXPECT_EQ(meter.used_uj(100, 350), 250);
    EXPECT_EQ(meter.used_uj(900, 150), 250);
    EXPECT_EQ(meter.used_uj(100, 100), 0);
}

TEST(EnergyMeters, AreReadOnlyWhereTheyChangeOftenEnough) {
    const FixtureTree tree;
    write_zone(tree, "intel-rapl:0", "package-0", "100");
    const EnergyMeters meters(tree.root(), no_driver);
    EXPECT_EQ(meters.read_uj(ms - 1), Readings{std::nullopt});
    EXPECT_EQ(meters.read_uj(ms), Readings{100});
}

// The file exists but cannot be read, as for all users but root.
TEST(EnergyMeters, ThatMayNotBeReadAreMissingAndItSaysWhatToType) {
    const FixtureTree tree;
    tree.write("sys/class/powercap/intel-rapl:0/name", "package-0");
    tree.make_folder("sys/class/powercap/intel-rapl:0/energy_uj");
    const EnergyMeters meters(tree.root(), no_driver);
    EXPECT_TRUE(meters.all().empty());
    EXPECT_NE(meters.packages_missing()->find("sudo chmod a+r"), std::string::npos);
}

TEST(EnergyMeters, AreMissingInVirtualMachines) {
    const FixtureTree tree;
    const EnergyMeters meters(tree.root(), no_driver);
    EXPECT_TRUE(meters.all().empty());
    EXPECT_NE(meters.packages_missing()->find("no RAPL"), std::string::npos);
}

TEST(EnergyMeters, OfGpusComeFromTheDriverInMillijoules) {
    const FixtureTree tree;
    tree.write("machine",
               "gpu 00000000:10:00.0 233010de 9 0 NVIDIA H100\n"
               "gpu 00000000:11:00.0 1b0210de 6 1 NVIDIA TITAN Xp\n"  // has no meter
               "gpu 00000000:12:00.0 233010de 9 0 NVIDIA H100\n"
               "energy 0 500 20\nenergy 2 800 0");
    setenv("FAKE_NVML", (tree.root() / "machine").c_str(), /*overwrite=*/1);
    write_zone(tree, "intel-rapl:0", "package-0", "100");
    const EnergyMeters meters(tree.root(), FAKE_NVML_LIBRARY);
    EXPECT_EQ(names_of(meters), (std::vector<std::string>{"package-0", "GPU 0", "GPU 2"}));
    EXPECT_EQ(meters.all()[2], (EnergyMeter{Of::gpu, "GPU 2", 100 * ms, 0}));
    EXPECT_EQ(meters.read_uj(100 * ms), (Readings{100, 520'000, 800'000}));  // the second reading
    EXPECT_EQ(meters.read_uj(5 * ms), (Readings{100, std::nullopt, std::nullopt}));
}

}  // namespace tutti
