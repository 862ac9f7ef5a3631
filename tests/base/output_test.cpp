// SPDX-License-Identifier: Apache-2.0
#include "base/output.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "tests/base/files.hpp"

namespace tutti {
namespace {

class ReplaceFile : public ::testing::Test {
protected:
    ReplaceFile() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
    ~ReplaceFile() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path path(const char* name) const {
        return std::filesystem::path(folder_) / name;
    }

private:
    std::string folder_ = ::testing::TempDir() + "tutti-replace-XXXXXX";
};

TEST_F(ReplaceFile, PutsTheWholeTextInPlaceOfTheOld) {
    replace_file(path("below/file"), "a long first text", "it");
    replace_file(path("below/file"), "short", "it");
    EXPECT_EQ(content_of(path("below/file")), "short");
}

// Devices such as /dev/null must not become files, even for root.
TEST_F(ReplaceFile, LeavesWhatIsNoFileAsItIs) {
    const std::string pipe = path("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::string read;
    std::thread reader([&] { read = content_of(pipe); });
    replace_file(pipe, "text", "it");
    reader.join();
    EXPECT_EQ(read, "text");
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    EXPECT_THROW(replace_file("/dev/full", "text", "it"), Error);
}

}  // namespace
}  // namespace tutti
