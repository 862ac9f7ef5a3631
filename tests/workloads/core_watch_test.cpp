// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/core_watch.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/clock.hpp"
#include "results/records/limits.hpp"
#include "topology/detect/detect.hpp"
#include "topology/meters/host_counters.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

// Computes until this process has had `seconds` of its core; returns the seconds that passed.
double compute_for(double seconds) {
    const std::int64_t began_ns = now_ns();
    const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
    while (std::clock() < end) {
    }
    return seconds_since(began_ns);
}

// Another program that is always busy, where this one is.
class Hog {
public:
    Hog() : process_(fork()) {
        if (process_ != 0) return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile int busy = 1; busy != 0;) {
        }
        _exit(0);
    }
    ~Hog() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    Hog(const Hog&) = delete;
    Hog& operator=(const Hog&) = delete;

private:
    pid_t process_;
};

}  // namespace

TEST(CoreWatch, SeesThatAnotherProgramHasTheCore) {
    const FormerCpus before;
    run_on(cpus_of_cores().at(0));
    if (!busy_ns(cpus_of_cores())) GTEST_SKIP() << "the system does not say";
    const auto world = world_of_one();
    const Hog hog;
    CoreWatch watch(*world);
    compute_for(0.3);
    EXPECT_TRUE(is_disturbed(watch.share_of_others()));
    before.restore();
}

TEST(CoreWatch, DoesNotTakeTheRanksForOthers) {
    const FormerCpus before;
    run_on(cpus_of_cores().at(0));
    const auto world = world_of_one();
    CoreWatch watch(*world);
    const double ours = 0.3, passed = compute_for(ours);
    constexpr double steps_of_the_clock = 0.05;
    // The rest of the core's time; more if another thread of it is busy.
    const bool is_alone = detect_structure().cores.front().threads.size() == 1;
    const double left = is_alone ? 1 - ours / passed : 1;
    EXPECT_LE(watch.share_of_others(), left + steps_of_the_clock);
    before.restore();
}

}  // namespace tutti
