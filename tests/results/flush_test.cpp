// SPDX-License-Identifier: Apache-2.0
// A record is on the disk before append() comes back: a power cut may take none that was reported.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "results/records/store.hpp"
#include "samples.hpp"

namespace {

// The size of the file after each flush.
std::vector<off_t> flushed;

void note(int file) {
    struct stat status {};
    ::fstat(file, &status);
    flushed.push_back(status.st_size);
}

}  // namespace

// In place of the C library's, for all of this program.
extern "C" int fdatasync(int file) {
    note(file);
    return static_cast<int>(::syscall(SYS_fdatasync, file));
}
extern "C" int fsync(int file) {
    note(file);
    return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace tutti {

TEST(Store, HasEachRecordOnTheDiskBeforeItGoesOn) {
    const TemporaryFolder folder;
    const auto path = folder / "r.jsonl";
    Store store(path);
    for (int record = 0; record < 3; ++record) {
        flushed.clear();
        store.append(sample_point());
        ASSERT_FALSE(flushed.empty()) << "record " << record;
        EXPECT_EQ(flushed.back(), static_cast<off_t>(std::filesystem::file_size(path)));
    }
}

}  // namespace tutti
