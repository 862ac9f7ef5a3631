// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "cli/compare/connection.hpp"
#include "cli/compare/turn_message.hpp"
#include "cli/options/named_words.hpp"
#include "collectives/world/world.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// The turns of a job that 'tutti compare' has started: rank 0 asks it over a connection, and all
/// ranks sleep until there is an answer.
class JobTurns final : public Turns {
public:
    /// `meeting_point` is "HOST:PORT"; the key is in the environment; `named` hears what can run.
    /// Returns when it is this job's turn for the first time. Collective.
    JobTurns(World& world, const std::string& meeting_point, NamedWords named);

    Turn ready(std::int64_t trial, const Key& key) override;
    Turn warm() override;
    Turn block(std::int64_t median_ns) override;
    Turn steps(const std::vector<std::int64_t>& ends_ns) override;
    void ended(std::int64_t n_wrong) override;
    void skipped(std::int64_t trial, const Key& key, const std::string& reason) override;

    /// Throws Error for words that were named, and by which nothing could run. Collective.
    void expect_named() const;

private:
    Turn wait_for_turn(const TurnMessage& message);
    void say(const TurnMessage& message);

    World& world_;
    NamedWords named_;
    std::unique_ptr<Connection> connection_;  // on rank 0
};

}  // namespace tutti
