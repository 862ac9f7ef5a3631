// SPDX-License-Identifier: Apache-2.0
#include "cli/job_turns.hpp"

#include <cstdlib>

#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

constexpr double longest_sleep_seconds = 3600;  // the other job may take long to start

}  // namespace

JobTurns::JobTurns(World& world, const std::string& meeting_point, NamedWords named,
                   bool may_use_barriers)
    : world_(world), named_(std::move(named)) {
    const char* key = std::getenv("TUTTI_TURNS_KEY");
    done_by_all(world_, [&] {
        if (!world_.is_first()) return;
        if (key == nullptr)
            throw Error(
                "rank 0 has no TUTTI_TURNS_KEY in its environment; use a --launcher that forwards "
                "it, such as mpirun -x TUTTI_TURNS_KEY (--turns is only for 'tutti compare')");
        connection_ = std::make_unique<Connection>(meeting_point);
    });
    wait_for_turn({.news = TurnNews::started,
                   .key = key == nullptr ? "" : key,
                   .renews = true,
                   .may_use_barriers = may_use_barriers});
}

Turn JobTurns::ready(std::int64_t trial, const Key& key) {
    named_.measured(key.configuration);
    return wait_for_turn({.news = TurnNews::ready,
                          .trial = trial,
                          .call = call_in_words(key),
                          .candidate = candidate_in_words(key)});
}

Turn JobTurns::warm() { return wait_for_turn({.news = TurnNews::warm}); }

Turn JobTurns::block(std::int64_t median_ns) {
    return wait_for_turn({.news = TurnNews::block, .ns = median_ns});
}

Turn JobTurns::steps(const std::vector<std::int64_t>& ends_ns) {
    return wait_for_turn({.news = TurnNews::steps, .ends_ns = ends_ns});
}

void JobTurns::ended(std::int64_t n_wrong) { say({.news = TurnNews::ended, .n_wrong = n_wrong}); }

void JobTurns::skipped(std::int64_t trial, const Key& key, const std::string& reason) {
    named_.skipped(key.configuration, candidate_in_words(key) + ": " + reason);
    say({.news = TurnNews::skipped,
         .trial = trial,
         .call = call_in_words(key),
         .candidate = candidate_in_words(key),
         .reason = reason});
}

void JobTurns::expect_named() const {
    done_by_all(world_, [&] {
        if (const auto complaint = named_.complaint()) throw Error(*complaint);
    });
}

void JobTurns::say(const TurnMessage& message) {
    done_by_all(world_, [&] {
        if (world_.is_first()) connection_->send(to_line(message));
    });
}

Turn JobTurns::wait_for_turn(const TurnMessage& message) {
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

}  // namespace tutti
