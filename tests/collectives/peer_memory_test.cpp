// SPDX-License-Identifier: Apache-2.0
// Reads of another process's memory that the kernel does in parts.
#include "collectives/world/peer_memory.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "base/index.hpp"

namespace {

// Ranks of other tests are threads that all call the function below.
std::atomic<std::size_t> most_bytes_at_once = SIZE_MAX;
std::atomic<int> calls = 0;

}  // namespace

// Takes the place of the C library's function in this program.
extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count,
                                    const iovec* there, unsigned long there_count,
                                    unsigned long flags) {
    ++calls;
    iovec less = *here;
    less.iov_len = std::min(less.iov_len, most_bytes_at_once.load());
    return syscall(SYS_process_vm_readv, process, &less, here_count, there, there_count, flags);
}

extern "C" ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long here_count,
                                     const iovec* there, unsigned long there_count,
                                     unsigned long flags) {
    ++calls;
    iovec less = *here;
    less.iov_len = std::min(less.iov_len, most_bytes_at_once.load());
    return syscall(SYS_process_vm_writev, process, &less, here_count, there, there_count, flags);
}

namespace tutti {

TEST(PeerMemory, GoesOnWhereThePartBeforeEnded) {
    std::vector<int> theirs(1000);
    std::iota(theirs.begin(), theirs.end(), 1);
    const PeerMemory memory{getpid(), reinterpret_cast<std::byte*>(theirs.data())};
    for (const std::size_t at_once : {SIZE_MAX, std::size_t{3999}, std::size_t{700}}) {
        most_bytes_at_once = at_once;
        calls = 0;
        std::vector<int> mine(1001);
        try {
            memory.read(std::as_writable_bytes(std::span(mine)).data(), 4000);
        } catch (const Error& error) {
            most_bytes_at_once = SIZE_MAX;
            GTEST_SKIP() << error.what();
        }
        most_bytes_at_once = SIZE_MAX;
        EXPECT_EQ(calls, at_once == SIZE_MAX ? 1 : at_once == 700 ? 6 : 2);
        EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), mine.begin())) << at_once;
        EXPECT_EQ(mine.back(), 0);
    }
}

TEST(PeerMemory, GoesOnAfterAPartialWrite) {
    std::vector<int> mine(1000);
    std::iota(mine.begin(), mine.end(), 1);
    for (const std::size_t at_once : {SIZE_MAX, std::size_t{3999}, std::size_t{700}}) {
        std::vector<int> theirs(1001);
        const PeerMemory memory{getpid(), reinterpret_cast<std::byte*>(theirs.data())};
        most_bytes_at_once = at_once;
        calls = 0;
        try {
            memory.write(std::as_bytes(std::span(mine)).data(), 4000);
        } catch (const Error& error) {
            most_bytes_at_once = SIZE_MAX;
            GTEST_SKIP() << error.what();
        }
        most_bytes_at_once = SIZE_MAX;
        EXPECT_EQ(calls, at_once == SIZE_MAX ? 1 : at_once == 700 ? 6 : 2);
        EXPECT_TRUE(std::equal(mine.begin(), mine.end(), theirs.begin())) << at_once;
        EXPECT_EQ(theirs.back(), 0);
    }
}

}  // namespace tutti
