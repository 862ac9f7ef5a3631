// SPDX-License-Identifier: Apache-2.0
#include "results/tables/cautions.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using Lines = std::vector<std::string>;

HostHealth health_of(const std::string& host, std::string_view reading, double value,
                     const std::string& of = "") {
    HostHealth health{host, {}};
    health.add(reading, value, of);
    return health;
}

}  // namespace

TEST(Cautions, NameBusyHostsAndTurns) {
    std::vector<Launch> launches(2);
    for (Launch& launch : launches) {
        launch.nranks = launch.ppn = 4;
        launch.hosts = {{.name = "h", .cores = 4, .loadavg1 = 0.5}};
    }
    EXPECT_TRUE(cautions(launches).empty());
    launches[0].hosts[0].cgroup_cpus = 3.5;
    EXPECT_EQ(cautions(launches).size(), 1u);
    launches[0].hosts[0].cgroup_cpus = 64;
    EXPECT_TRUE(cautions(launches).empty());
    launches[1].hosts[0].loadavg1 = 3.5;
    launches[1].nranks = launches[1].ppn = 8;
    const Lines lines = cautions(launches);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_TRUE(holds(lines[0], "load 3.5 on"));
    EXPECT_TRUE(holds(lines[1], "more ranks than"));
}

// Each row of the table: a value that is all right, one that is not, and what is then said.
TEST(Cautions, OfAHostsHealthAreThoseThatAreBeyondTheirBound) {
    const struct {
        const char *reading, *of;
        double right, wrong;
        const char* words;
    } rows[] = {
        {"clock_pct_of_base", "CPU 1 ran slowly", 95, 60, "base clock"},
        {"clock_pct_of_most", "CPU 1 ran slowly", 60, 40, "half"},
        {"gpu_slowed", "GPU 1 (heat)", 0, 1, "GPU 1 (heat)"},
        {"memory_pressure_pct", "", 0.5, 30, "30 %"},
        {"steal_pct", "", 1, 12, "12 %"},
        {"preemptions_per_s", "rank 3", 20, 200, "200 times"},
        {"cpu_stall_pct", "", 10, 60, "60 %"},
        {"memory_stall_pct", "", 0.5, 7, "7 %"},
        {"swapped_pages", "", 0, 5, "5 pages"},
        {"thermal_throttles", "", 0, 4, "4 times"},
        {"link_errors", "eth0", 0, 2, "eth0: 2"},
        {"ecc_corrected", "GPU 0", 0, 1, "GPU 0: 1"},
        {"ecc_uncorrected", "GPU 0", 0, 1, "GPU 0: 1"},
    };
    const Launch launch{.session = "s"};
    for (const auto& row : rows) {
        const auto lines = [&](double value) {
            const End end{.session = "s", .health = {health_of("h", row.reading, value, row.of)}};
            return cautions({&launch, 1}, {&end, 1});
        };
        EXPECT_EQ(lines(row.right), Lines{}) << row.reading;
        const Lines wrong = lines(row.wrong);
        ASSERT_EQ(wrong.size(), 1u) << row.reading;
        EXPECT_TRUE(wrong[0].starts_with("host h: ")) << wrong[0];
        EXPECT_TRUE(holds(wrong[0], row.words));
    }
}

TEST(Cautions, SayOnceInHowManyLaunchesAHostWasDisturbed) {
    std::vector<Launch> launches{{.session = "a"}, {.session = "b"}, {.session = "c"}};
    std::vector<End> ends{{.session = "a"}, {.session = "b"}, {.session = "c"}};
    launches[0].health = {health_of("h", "clock_pct_of_base", 50, "CPU 0")};
    ends[0].health = launches[0].health;  // same launch
    ends[2].health = {health_of("h", "clock_pct_of_base", 60, "CPU 1"),
                      health_of("i", "steal_pct", 5)};
    const Lines lines = cautions(launches, ends);
    ASSERT_EQ(lines.size(), 2u);
    for (const char* const part : {"host h", "2 of 3", "CPU 0"}) EXPECT_TRUE(holds(lines[0], part));
    for (const char* const part : {"host i", "1 of 3", "5 %"}) EXPECT_TRUE(holds(lines[1], part));
    EXPECT_EQ(cautions_below({}, std::span(ends).subspan(2, 1)).find("# but: host h: CPU 1"), 0u);
}

TEST(Health, OmitsReadingsThatAre0OrUnknown) {
    EXPECT_TRUE(health_of("h", "steal_pct", 0).readings.empty());
    EXPECT_THROW(health_of("h", "mood", 1), std::logic_error);
}

}  // namespace tutti
