// SPDX-License-Identifier: Apache-2.0
#include "collectives/heap/settings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::heap {
namespace {

struct Read {
    Settings settings;
    std::string printed;
};

Read read(std::vector<std::string> entries) {
    std::vector<char*> environment;
    for (std::string& entry : entries) environment.push_back(entry.data());
    environment.push_back(nullptr);
    testing::internal::CaptureStderr();
    const Settings settings = settings_from(environment.data());
    return {settings, testing::internal::GetCapturedStderr()};
}

TEST(HeapSettings, HaveDefaults) {
    const auto [settings, printed] =
        read({"TUTTI_HEAP=1M", "TUTTI_HEAP_THRESHOLDS=1M", "PATH=/bin"});
    EXPECT_EQ(settings.threshold, 65536u);
    EXPECT_EQ(settings.retain, 128u << 20);
    EXPECT_EQ(settings.reserve, std::size_t{256} << 30);
    EXPECT_EQ(settings.after_fork, AfterFork::copy);
    EXPECT_EQ(printed, "");
}

TEST(HeapSettings, AcceptSizesWithOrWithoutUnits) {
    const auto [settings, printed] =
        read({"TUTTI_HEAP_THRESHOLD=100000", "TUTTI_HEAP_RETAIN=3M", "TUTTI_HEAP_RESERVE=2G"});
    EXPECT_EQ(settings.threshold, 100000u);
    EXPECT_EQ(settings.retain, 3u << 20);
    EXPECT_EQ(settings.reserve, std::size_t{2} << 30);
    EXPECT_EQ(printed, "");
}

TEST(HeapSettings, CanTurnTheHeapOff) {
    for (const char* word : {"TUTTI_HEAP_THRESHOLD=off", "TUTTI_HEAP_THRESHOLD=0"})
        EXPECT_EQ(read({word}).settings.threshold, SIZE_MAX);
}

TEST(HeapSettings, RaiseTheThresholdToAPage) {
    EXPECT_EQ(read({"TUTTI_HEAP_THRESHOLD=1"}).settings.threshold, 4096u);
}

TEST(HeapSettings, RejectUnknownForkModes) {
    EXPECT_EQ(read({"TUTTI_HEAP_FORK=exec"}).settings.after_fork, AfterFork::exec);
    EXPECT_EQ(read({"TUTTI_HEAP_FORK=copy"}).settings.after_fork, AfterFork::copy);
    const auto [settings, printed] = read({"TUTTI_HEAP_FORK=share"});
    EXPECT_EQ(settings.after_fork, AfterFork::copy);
    EXPECT_TRUE(printed.starts_with("tutti_heap: TUTTI_HEAP_FORK") && printed.ends_with("share\n"));
}

TEST(HeapSettings, RejectInvalidSizes) {
    for (const std::string text : {"", "K", "64X", "-1", "1.5M", "99999999999"}) {
        const auto [settings, printed] = read({"TUTTI_HEAP_THRESHOLD=" + text});
        EXPECT_EQ(settings.threshold, 65536u);
        EXPECT_TRUE(printed.starts_with("tutti_heap: TUTTI_HEAP_THRESHOLD") &&
                    printed.ends_with(" " + text + "\n"));
    }
}

}  // namespace
}  // namespace tutti::heap
