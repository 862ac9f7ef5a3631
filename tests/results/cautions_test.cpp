// SPDX-License-Identifier: Apache-2.0
#include "results/tables/cautions.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

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
    launches[1].hosts[0].loadavg1 = 3.5;
    launches[1].nranks = launches[1].ppn = 8;
    EXPECT_EQ(
        cautions(launches),
        (Lines{"host h is busy with something else, in 1 of 2 launches (load 3.5 on 4 cores): "
               "times are unsteady",
               "more ranks than cores: they take turns"}));
}

// Each row of the table: a value that is all right, one that is not, and what is then said.
TEST(Cautions, OfAHostsHealthAreThoseThatAreBeyondTheirBound) {
    const struct {
        const char *reading, *of;
        double right, wrong;
        const char* words;
    } rows[] = {
        {"clock_pct_of_base", "CPU 1 ran slowly", 95, 60, "CPU 1 ran slowly, below its base clock"},
        {"clock_pct_of_most", "CPU 1 ran slowly", 60, 40,
         "CPU 1 ran slowly, less than half of what it can"},
        {"gpu_slowed", "GPU 1 (heat)", 0, 1, "GPU 1 (heat): the clock is held down"},
        {"memory_pressure_pct", "", 0.5, 30,
         "memory is short: programs wait for it 30 % of the time"},
        {"steal_pct", "", 1, 12, "the hypervisor took 12 % of the CPUs' time"},
        {"preemptions_per_s", "rank 3", 20, 200,
         "rank 3's core was taken by others 200 times a second"},
        {"cpu_stall_pct", "", 10, 60, "programs waited for a core 60 % of the time"},
        {"memory_stall_pct", "", 0.5, 7,
         "memory was short: programs waited for it 7 % of the time"},
        {"swapped_pages", "", 0, 5, "5 pages of memory went to disk or came back"},
        {"thermal_throttles", "", 0, 4, "the processors were too hot: slowed down 4 times"},
        {"link_errors", "eth0", 0, 2, "eth0: 2 frames were lost or damaged"},
        {"ecc_corrected", "GPU 0", 0, 1, "GPU 0: 1 memory errors, corrected"},
        {"ecc_uncorrected", "GPU 0", 0, 1, "GPU 0: 1 memory errors that could not be corrected"},
    };
    const Launch launch{.session = "s"};
    for (const auto& row : rows) {
        const auto lines = [&](double value) {
            const End end{.session = "s", .health = {health_of("h", row.reading, value, row.of)}};
            return cautions({&launch, 1}, {&end, 1});
        };
        EXPECT_EQ(lines(row.right), Lines{}) << row.reading;
        EXPECT_EQ(lines(row.wrong), Lines{"host h: " + std::string(row.words)});
    }
}

TEST(Cautions, SayOnceInHowManyLaunchesAHostWasDisturbed) {
    std::vector<Launch> launches{{.session = "a"}, {.session = "b"}, {.session = "c"}};
    std::vector<End> ends{{.session = "a"}, {.session = "b"}, {.session = "c"}};
    launches[0].health = {health_of("h", "clock_pct_of_base", 50, "CPU 0")};
    ends[0].health = launches[0].health;  // of the same launch
    ends[2].health = {health_of("h", "clock_pct_of_base", 60, "CPU 1"),
                      health_of("i", "steal_pct", 5)};
    EXPECT_EQ(cautions(launches, ends),
              (Lines{"host h, in 2 of 3 launches, at worst: CPU 0, below its base clock",
                     "host i, in 1 of 3 launches: the hypervisor took 5 % of the CPUs' time"}));
    EXPECT_EQ(cautions_below({}, std::span(ends).subspan(2, 1)).find("# but: host h: CPU 1"), 0u);
}

TEST(Health, HasNoReadingThatIs0AndNoneThatNobodyKnows) {
    EXPECT_TRUE(health_of("h", "steal_pct", 0).readings.empty());
    EXPECT_THROW(health_of("h", "mood", 1), std::logic_error);
}

}  // namespace tutti
