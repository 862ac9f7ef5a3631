// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs.hpp"

#include <gtest/gtest.h>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {

using Numbers = std::vector<int>;

TEST(Sysfs, ListsAreRangesAndNumbers) {
    EXPECT_EQ(sysfs::parse_list("0-3,8"), (Numbers{0, 1, 2, 3, 8}));
    EXPECT_EQ(sysfs::parse_list("5"), Numbers{5});
    EXPECT_EQ(sysfs::parse_list("7,2"), (Numbers{2, 7}));
    EXPECT_EQ(sysfs::parse_list("1,0-1"), (Numbers{0, 1}));
    EXPECT_EQ(sysfs::parse_list(""), Numbers{});
    EXPECT_EQ(sysfs::parse_list("none"), Numbers{});
    EXPECT_EQ(sysfs::parse_list("1,9-3"), Numbers{1});
    EXPECT_EQ(sysfs::parse_list("1,3-2147483647"), Numbers{1});  // more CPUs than any machine has
}

TEST(Sysfs, MasksAreListsOfBits) {
    const FixtureTree tree;
    tree.write("mask", "00000001,80000009");
    EXPECT_EQ(sysfs::mask(tree.root() / "mask"), (Numbers{0, 3, 31, 32}));
    EXPECT_EQ(sysfs::mask(tree.root() / "absent"), Numbers{});
}

TEST(Sysfs, MissingOrMalformedFilesAreNone) {
    const FixtureTree tree;
    tree.write("text", "many");
    EXPECT_EQ(sysfs::first_line(tree.root() / "absent"), std::nullopt);
    EXPECT_EQ(sysfs::number(tree.root() / "absent"), std::nullopt);
    EXPECT_EQ(sysfs::number(tree.root() / "text"), std::nullopt);
    EXPECT_EQ(sysfs::size(tree.root() / "text"), std::nullopt);
    EXPECT_TRUE(sysfs::list(tree.root() / "absent").empty());
    EXPECT_TRUE(sysfs::entries(tree.root() / "absent").empty());
}

TEST(Sysfs, ReadsValues) {
    const FixtureTree tree;
    tree.write("size", "48K");
    tree.write("number", "-1");
    tree.write("info", "model name\t: One\nother: x\nmodel name: Two");
    EXPECT_EQ(sysfs::size(tree.root() / "size"), Bytes{49152});
    EXPECT_EQ(sysfs::number(tree.root() / "number"), -1);
    EXPECT_EQ(sysfs::value_of(tree.root() / "info", "model name"), "One");
    EXPECT_EQ(sysfs::value_of(tree.root() / "info", "model"), std::nullopt);
}

TEST(Sysfs, LeadingNumbersAreAboveZeroAndFinite) {
    const FixtureTree tree;
    tree.write("speed", "16.0 GT/s PCIe");
    EXPECT_EQ(sysfs::leading_number(tree.root() / "speed"), 16);
    for (const char* unknown : {"Unknown", "-1", "1e999", "nan", ""}) {
        tree.write("speed", unknown);
        EXPECT_EQ(sysfs::leading_number(tree.root() / "speed"), 0) << unknown;
    }
    EXPECT_EQ(sysfs::leading_number(tree.root() / "absent"), 0);
}

TEST(Sysfs, NumberedFoldersComeInNumericalOrder) {
    const FixtureTree tree;
    for (const char* name : {"cpu10", "cpu2", "cpufreq", "cpu0", "cpu-1", "cpu02", "cpu65536"})
        tree.make_folder(name);
    EXPECT_EQ(sysfs::numbered(tree.root(), "cpu"), (Numbers{0, 2, 10}));
}

}  // namespace tutti
