// SPDX-License-Identifier: Apache-2.0
#include "base/library_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>

namespace tutti {
namespace {

// Only development packages have the name without a version.
TEST(LibraryFile, IsFoundNextToTheProgramWithAndWithoutAVersionInItsName) {
    const std::string name = "libof_test_" + std::to_string(getpid()) + ".so";
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    EXPECT_EQ(library_file(name), std::nullopt);
    const auto names = library_names(name);
    EXPECT_EQ(names[0], name);
    EXPECT_TRUE(std::regex_match(names[1], std::regex("libof_test_[0-9]+\\.so\\.[0-9]+")))
        << names[1];
    for (const std::string& each : names) {
        std::ofstream{folder / each};
        EXPECT_EQ(library_file(name), folder / each);
        std::filesystem::remove(folder / each);
    }
}

}  // namespace
}  // namespace tutti
