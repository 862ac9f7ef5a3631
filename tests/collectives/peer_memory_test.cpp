// SPDX-License-Identifier: Apache-2.0
// Copies between processes that the kernel does in parts.
#include "collectives/world/peer_memory.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"

namespace {

// Ranks of other tests are threads that all call the functions below.
std::atomic<std::size_t> most_bytes_at_once = SIZE_MAX;
std::atomic<int> calls = 0;

}  // namespace

// Copies as much as is allowed at once.
static ssize_t copy_part(long system_call, pid_t process, const iovec* here,
                         unsigned long here_count, const iovec* there, unsigned long there_count,
                         unsigned long flags) {
    ++calls;
    iovec less = *here;
    less.iov_len = std::min(less.iov_len, most_bytes_at_once.load());
    return syscall(system_call, process, &less, here_count, there, there_count, flags);
}

// Both take the place of the C library's functions in this program.
extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count,
                                    const iovec* there, unsigned long there_count,
                                    unsigned long flags) {
    return copy_part(SYS_process_vm_readv, process, here, here_count, there, there_count, flags);
}
extern "C" ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long here_count,
                                     const iovec* there, unsigned long there_count,
                                     unsigned long flags) {
    return copy_part(SYS_process_vm_writev, process, here, here_count, there, there_count, flags);
}

namespace tutti {
namespace {

// Copies 4000 bytes between this process's memory and that of a peer, in parts of several sizes.
// Returns why the kernel refuses that; nothing if it works.
std::optional<std::string> refuses_parts(bool writes) {
    for (const std::size_t at_once : {SIZE_MAX, std::size_t{3999}, std::size_t{700}}) {
        std::vector<int> from(1000), to(1001);
        std::iota(from.begin(), from.end(), 1);
        std::vector<int>& theirs = writes ? to : from;
        const PeerMemory memory{getpid(), reinterpret_cast<std::byte*>(theirs.data())};
        most_bytes_at_once = at_once;
        calls = 0;
        try {
            if (writes)
                memory.write(std::as_bytes(std::span(from)).data(), 4000);
            else
                memory.read(std::as_writable_bytes(std::span(to)).data(), 4000);
        } catch (const Error& error) {
            most_bytes_at_once = SIZE_MAX;
            return error.what();
        }
        most_bytes_at_once = SIZE_MAX;
        EXPECT_EQ(calls, at_once == SIZE_MAX ? 1 : at_once == 700 ? 6 : 2);
        EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin())) << at_once;
        EXPECT_EQ(to.back(), 0);
    }
    return std::nullopt;
}

}  // namespace

TEST(PeerMemory, GoesOnWhereThePartBeforeEnded) {
    if (const auto refusal = refuses_parts(/*writes=*/false)) GTEST_SKIP() << *refusal;
}

TEST(PeerMemory, GoesOnAfterAPartialWrite) {
    if (const auto refusal = refuses_parts(/*writes=*/true)) GTEST_SKIP() << *refusal;
}

}  // namespace tutti
