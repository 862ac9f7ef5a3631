// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/jobs/job.hpp"
#include "collectives/world/world.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// The first word of the line by which 'tutti aggressor --parent' tells the number of its worker, a
/// process group that is stopped.
inline constexpr std::string_view aggressor_is_ready = "ready";

/// Programs next to the ranks, each on every host, that run only while a measurement resumes them:
/// 'tutti aggressor' with the words of 'tutti bench --aggressor'.
class Aggressors {
public:
    /// Starts and stops them. Throws Error if one cannot start, or if `network` is named for one
    /// host. Collective.
    Aggressors(World& world, const std::vector<std::string>& named);

    /// One for each name. Their functions throw Error if a program has ended. They refer to this
    /// object.
    std::vector<Disturbance> disturbances();

private:
    // One on this host.
    struct Process {
        std::unique_ptr<Child> supervisor;
        pid_t worker = 0;
    };
    // Without processes on ranks that are not the host's first.
    struct Program {
        std::string name;
        Process receiver = {};  // only for `network`; it is never stopped
        Process load = {};
    };

    Program started(const std::string& name) const;
    Process run(const std::vector<std::string>& words) const;
    Process run_sender(const Process& receiver) const;
    static void expect_running(const Program& program);

    World& world_;
    std::vector<Program> programs_;
};

}  // namespace tutti
