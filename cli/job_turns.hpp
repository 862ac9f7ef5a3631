// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "cli/options/named_words.hpp"
#include "collectives/world/world.hpp"
#include "workloads/timing/connection.hpp"
#include "workloads/timing/turn_message.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// The turns of a job that 'tutti compare' has started: rank 0 asks the comparison over a
/// connection, and all ranks sleep until the answer.
class JobTurns final : public Turns {
public:
    /// Connects to `meeting_point` ("HOST:PORT"), and returns at the first turn of this job. The
    /// key is in the environment. `named` records which candidates run. `may_use_barriers`: the job
    /// may be told to start calls at barriers. Collective.
    JobTurns(World& world, const std::string& meeting_point, NamedWords named,
             bool may_use_barriers);

    Turn ready(std::int64_t trial, const Key& key) override;
    Turn warm() override;
    Turn block(std::int64_t median_ns) override;
    Turn steps(const std::vector<std::int64_t>& ends_ns) override;
    void ended(std::int64_t n_wrong) override;
    void skipped(std::int64_t trial, const Key& key, const std::string& reason) override;

    /// Throws Error for candidates that were named and could not run. Collective.
    void expect_named() const;

private:
    Turn wait_for_turn(const TurnMessage& message);
    void say(const TurnMessage& message);

    World& world_;
    NamedWords named_;
    std::unique_ptr<Connection> connection_;  // only on rank 0
};

}  // namespace tutti
