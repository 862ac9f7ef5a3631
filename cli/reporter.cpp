// SPDX-License-Identifier: Apache-2.0
#include "cli/reporter.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/clock.hpp"
#include "base/output.hpp"
#include "cli/ranks/interruption.hpp"
#include "cli/ranks/supervisor.hpp"

namespace tutti {

Reporter::Reporter(World& world, Session session, const std::string& file)
    : rank_(world.rank()),
      is_active_(world.is_first()),
      has_file_(!file.empty()),
      session_(std::move(session)),
      began_ns_(now_ns()),
      health_(world) {
    if (is_active_ && !file.empty()) store_.emplace(file);
}

void Reporter::begin(const Launch& launch, std::size_t goal) {
    has_begun_ = true;
    announce_session(has_file_ ? session_.id : "");
    if (!is_active_) return;
    bar_.emplace(goal);
    if (!store_) {
        announce_kept("nothing is stored without --json FILE");
        return;
    }
    store_->append(session_);
    store_->append(launch);
    announce_results_file(store_->file(), session_.id);
    announce_records();
}

void Reporter::announce_records() const {
    announce_kept(fmt::format("{} records are in '{}'; continue with --resume {}",
                              store_->records(), store_->path().string(), store_->path().string()));
}

void Reporter::print(const std::string& text) {
    if (!is_active_) return;
    if (bar_) bar_->clear();
    print_at_once(text);
}

void Reporter::warn(const std::string& line) {
    if (!is_active_) return;
    if (bar_) bar_->clear();
    fmt::print(stderr, "tutti: {}\n", line);
}

const End& Reporter::summary() {
    if (!end_) end_ = End{.session = session_.id, .health = health_.since()};
    return *end_;
}

Exit Reporter::end(Outcome outcome, const std::optional<std::string>& complaint) {
    if (bar_) bar_->clear();
    const bool is_wrong = outcome == Outcome::wrong_result;
    End end = summary();
    end.ok = !is_wrong;
    end.wall_ns = now_ns() - began_ns_;
    if (store_) store_->append(end);
    if (is_wrong) return Exit::wrong_result;
    const bool is_nothing = outcome == Outcome::nothing_measured;
    if (!is_nothing && !(complaint && is_active_)) return Exit::ok;
    warn(is_nothing ? "nothing was measured: the lines '# skipped' tell why" : *complaint);
    return Exit::usage;
}

void Reporter::record(const Error& error, std::optional<Rank> rank) {
    if (error.code() == Exit::usage && !has_begun_) return;
    if (!store_) {
        if (rank && error.code() == Exit::time_out) announce_time_out(error.what());
        return;
    }
    Fail fail;
    fail.session = session_.id;
    fail.phase = error.what();
    fail.what = error.code() == Exit::time_out ? "timeout" : "exit";
    fail.rank = rank;
    try {
        store_->append(fail);
    } catch (const Error& second) {  // the first error is the one to report
        if (std::string_view(second.what()) != error.what())
            fmt::print(stderr, "tutti: {}\n", second.what());
    }
}

Exit Reporter::recording_failures(const std::function<Exit()>& work) {
    try {
        return work();
    } catch (const OthersFailed& error) {
        record(error, std::nullopt);
        throw;
    } catch (const Error& error) {
        record(error, rank_);
        throw;
    }
}

}  // namespace tutti
