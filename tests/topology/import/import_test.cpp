// SPDX-License-Identifier: Apache-2.0
#include "topology/import/import.hpp"

#include <gtest/gtest.h>

#include "tests/topology/fixture_tree.hpp"
#include "tests/topology/import/parsing.hpp"

namespace tutti {
namespace {

std::string complaint_about_file(const std::filesystem::path& file) {
    try {
        read_machine(file);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(Import, NamesTheFormatsWhereNoneFits) {
    for (const char* text :
         {"", "\n \n", "hello", "<svg width=\"4\"/>", "<graphs/>", "[1, 2]", "GPU", "%PDF-1.4"}) {
        const std::string complaint = complaint_about(text);
        EXPECT_TRUE(names_a_line(complaint)) << text << ": " << complaint;
        EXPECT_NE(complaint.find("hwloc XML"), std::string::npos) << complaint;
        EXPECT_NE(complaint.find("nvidia-smi topo -m"), std::string::npos) << complaint;
    }
    EXPECT_NE(complaint_about("\n\n  <svg/>").find("'svg'"), std::string::npos);
}

TEST(Import, RefusesBinaryFiles) {
    const std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    EXPECT_NE(complaint_about(png).find("not a text"), std::string::npos);
}

TEST(Import, RefusesForeignJsonByItsFirstLine) {
    for (const char* text : {"{}", R"({"kind":"point","v":1})", R"({"v":2,"kind":"machine"})"}) {
        const std::string complaint = complaint_about(text);
        EXPECT_TRUE(names_a_line(complaint));
        EXPECT_NE(complaint.find("tutti topo --json"), std::string::npos) << complaint;
    }
}

TEST(Import, SaysThatAFileIsMissingOrAFolder) {
    const FixtureTree tree;
    EXPECT_NE(complaint_about_file(tree.root() / "absent.xml").find("no such file"),
              std::string::npos);
    EXPECT_NE(complaint_about_file(tree.root()).find("a folder"), std::string::npos);
}

TEST(Import, NamesTheFileAndTheLine) {
    const FixtureTree tree;
    tree.write("broken.xml", "<system>\n<cpu numaid=\"0\">\n<pci/>\n</cpu></system>");
    EXPECT_EQ(complaint_about_file(tree.root() / "broken.xml"),
              (tree.root() / "broken.xml").string() + ":3: <pci> lacks busid=");
}

TEST(Import, ReadsAFileThatBeginsWithAByteOrderMark) {
    EXPECT_EQ(
        parse_machine("\xef\xbb\xbf<system><cpu numaid=\"0\"/></system>", "FILE").hosts.size(), 1u);
}

TEST(Import, RefusesTextsThatNestTooDeep) {
    std::string text = "<system>";
    for (int depth = 0; depth < 100000; ++depth) text += "<cpu>";
    EXPECT_TRUE(names_a_line(complaint_about(text)));
    std::string json = R"({"v":1,"kind":"machine","hosts":)";
    for (int depth = 0; depth < 100000; ++depth) json += "[";
    EXPECT_TRUE(names_a_line(complaint_about(json)));
}

TEST(Import, LimitsCpuSets) {
    const auto system = [](const std::string& affinity) {
        return "<system><cpu numaid=\"0\" affinity=\"" + affinity + "\"/></system>";
    };
    std::string zeros;
    for (int word = 0; word < 4000; ++word) zeros += ",00000000";
    EXPECT_EQ(complaint_about(system("0" + zeros)), "");
    EXPECT_NE(complaint_about(system("1" + zeros)).find("CPU 65535"), std::string::npos);
    EXPECT_TRUE(names_a_line(complaint_about(system(std::string(1000000, 'f')))));
    EXPECT_TRUE(names_a_line(complaint_about(system("0xf...f"))));
    EXPECT_TRUE(names_a_line(complaint_about(system("-1"))));
    EXPECT_TRUE(names_a_line(complaint_about(system("xyz"))));
}

}  // namespace
}  // namespace tutti
