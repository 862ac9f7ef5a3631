// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <memory>
#include <string>

#include "cli/options/named_words.hpp"
#include "collectives/world/world.hpp"
#include "results/records/metric.hpp"
#include "workloads/timing/connection.hpp"
#include "workloads/timing/done_by_all.hpp"
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
             bool may_use_barriers)
        : world_(world), named_(std::move(named)) {
        const char* key = std::getenv("TUTTI_TURNS_KEY");
        done_by_all(world_, [&] {
            if (!world_.is_first()) return;
            if (key == nullptr)
                throw Error(
                    "rank 0 has no TUTTI_TURNS_KEY in its environment; use a --launcher that "
                    "forwards it, such as mpirun -x TUTTI_TURNS_KEY (--turns is only for 'tutti "
                    "compare')");
            connection_ = std::make_unique<Connection>(meeting_point);
        });
        wait_for_turn({.news = TurnNews::started,
                       .key = key == nullptr ? "" : key,
                       .renews = true,
                       .may_use_barriers = may_use_barriers,
                       .sends_midmeans = true});
    }

    Turn ready(std::int64_t trial, const Key& key) override {
        named_.measured(key.configuration);
        return wait_for_turn(message_about(trial, key));
    }

    Turn warm() override { return wait_for_turn({.news = TurnNews::warm}); }

    Turn block(const BlockTime& time) override {
        return wait_for_turn(
            {.news = TurnNews::block, .ns = time.median_ns, .midmean_ns = time.midmean_ns});
    }

    Turn steps(const std::vector<std::int64_t>& ends_ns) override {
        return wait_for_turn({.news = TurnNews::steps, .ends_ns = ends_ns});
    }

    void ended(std::int64_t n_wrong) override {
        say({.news = TurnNews::ended, .n_wrong = n_wrong});
    }

    void skipped(std::int64_t trial, const Key& key, const std::string& reason) override {
        named_.skipped(key.configuration, candidate_in_words(key) + ": " + reason);
        TurnMessage message = message_about(trial, key);
        message.news = TurnNews::skipped;
        message.reason = reason;
        say(message);
    }

    /// Throws Error for candidates that were named and could not run. Collective.
    void expect_named() const {
        done_by_all(world_, [&] {
            if (const auto complaint = named_.complaint()) throw Error(*complaint);
        });
    }

private:
    static constexpr double longest_sleep_seconds = 3600;  // the other job may take long to start

    static TurnMessage message_about(std::int64_t trial, const Key& key) {
        return {.news = TurnNews::ready,
                .trial = trial,
                .call = call_in_words(key),
                .candidate = candidate_in_words(key),
                .place = place_in_words(key.nranks, key.ppn, key.placement)};
    }

    void say(const TurnMessage& message) {
        done_by_all(world_, [&] {
            if (world_.is_first()) connection_->send(to_line(message));
        });
    }

    Turn wait_for_turn(const TurnMessage& message) {
        Turn turn = Turn::stop;
        std::string problem;
        if (world_.is_first()) {
            try {
                connection_->send(to_line(message));
                const auto answer =
                    connection_->receive(longest_sleep_seconds, [&] { world_.heartbeat(); });
                if (!answer) throw Error("the comparison that started this job has ended");
                parse_name(*answer, turn);
            } catch (const Error& error) {
                problem = error.what();
            }
        }
        world_.sleeping_barrier(longest_sleep_seconds);
        fail_together(world_, "turns", problem.empty() ? nullptr : problem.c_str());
        return from_rank0(world_, turn);
    }

    World& world_;
    NamedWords named_;
    std::unique_ptr<Connection> connection_;  // only on rank 0
};

}  // namespace tutti
