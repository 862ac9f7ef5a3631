// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/gpu_conditions.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {
namespace {

std::vector<GpuCondition> conditions(const std::string& machine, const char* library) {
    const FixtureTree tree;
    tree.write("machine", machine);
    setenv("FAKE_NVML", (tree.root() / "machine").c_str(), /*overwrite=*/1);
    std::string why_not;
    const auto driver = NvmlLibrary::load(library, why_not);
    return gpu_conditions(driver.value());
}

const std::string two_gpus =
    "gpu 00000000:10:00.0 233010de 9 0 NVIDIA H100\n"
    "gpu 00000000:11:00.0 233010de 9 0 NVIDIA H100\n";

}  // namespace

TEST(GpuConditions, SayWhatHoldsTheClockDownAndHowManyErrorsThereWere) {
    for (const char* library : {FAKE_NVML_LIBRARY, FAKE_OLD_NVML_LIBRARY})
        EXPECT_EQ(conditions(two_gpus + "slowed 1 44\necc 1 5 2", library),
                  (std::vector<GpuCondition>{{.name = "GPU 0"},
                                             {.name = "GPU 1",
                                              .slowed_by = "heat, power cap",
                                              .ecc_corrected = 5,
                                              .ecc_uncorrected = 2}}));
}

// Idle, clocks as a program set them, and clocks of a display.
TEST(GpuConditions, ThatAreNoTroubleAreNotNamed) {
    for (const char* harmless : {"1", "2", "100", "103"})
        EXPECT_EQ(conditions(two_gpus + "slowed 0 " + harmless, FAKE_NVML_LIBRARY)[0].slowed_by,
                  "");
}

TEST(GpuConditions, OfADriverThatDoesNotAnswerAreUnknown) {
    EXPECT_EQ(conditions(two_gpus + "slowed 0 8\necc 0 1 1\ndeaf 0", FAKE_NVML_LIBRARY)[0],
              GpuCondition{.name = "GPU 0"});
}

}  // namespace tutti
