// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/process_watch.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace tutti {
namespace {

// Rank 0 of two; rank 1 is a child that waits to be ended.
class ChildAsRank1 final : public World {
public:
    explicit ChildAsRank1(const Placement& hosts) : hosts_(hosts), child_(fork()) {
        if (child_ == 0)
            for (;;) pause();
    }
    ~ChildAsRank1() override { end(); }

    Rank rank() const override { return {0}; }
    int size() const override { return 2; }
    std::string_view kind() const override { return "processes"; }
    bool one_process() const override { return false; }
    const Placement& hosts() const override { return hosts_; }
    void barrier() override {}
    void broadcast(std::span<std::byte>) override {}
    // The child's data begins with its process number.
    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        std::memcpy(all.data(), mine.data(), mine.size());
        std::memcpy(&all[mine.size()], mine.data(), mine.size());
        std::memcpy(&all[mine.size()], &child_, sizeof child_);
    }

    void end() {
        if (child_ <= 0) return;
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        child_ = 0;
    }

private:
    Placement hosts_;
    pid_t child_;
};

// Old kernels have no such call, and some containers refuse it.
std::string why_nothing_is_watched() {
    const long self = syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0) return std::string("pidfd_open: ") + std::strerror(errno);
    close(static_cast<int>(self));
    return "";
}

TEST(ProcessWatch, NamesTheRankWhoseProcessHasEnded) {
    if (const auto why = why_nothing_is_watched(); !why.empty()) GTEST_SKIP() << why;
    ChildAsRank1 world(Placement::one_node(2));
    ProcessWatch watch(world);
    EXPECT_EQ(watch.ended(), std::nullopt);
    world.end();
    EXPECT_EQ(watch.ended(), Rank{1});
    EXPECT_EQ(watch.ended(), Rank{1}) << "it stays ended";
}

// There the number would be that of another process.
TEST(ProcessWatch, LooksAtNoRankOfAnotherHost) {
    ChildAsRank1 world(Placement::in_nodes_of(2, 1));
    ProcessWatch watch(world);
    world.end();
    EXPECT_EQ(watch.ended(), std::nullopt);
}

}  // namespace
}  // namespace tutti
