// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/progress/progress_bar.hpp"
#include "collectives/world/world.hpp"
#include "results/records/store.hpp"
#include "workloads/health/health_watch.hpp"

namespace tutti {

/// What rank 0 reports of a launch: tables on stdout, progress on stderr, records in a results
/// file. Other ranks call the same functions, and nothing happens there.
class Reporter {
public:
    /// Opens the results file, unless `file` is empty. Throws Error. Collective, as it looks at the
    /// hosts' health.
    Reporter(World& world, Session session, const std::string& file);

    bool is_active() const { return is_active_; }
    const Session& session() const { return session_; }

    /// As the launch began; the same on all ranks.
    const std::vector<HostHealth>& health_at_begin() const { return health_.at_begin(); }
    /// The last record, which end() writes; from now on it says how the hosts did over the launch.
    /// Collective; the same on all ranks.
    const End& look_back();

    /// Writes the head of the records. Progress counts up to `goal` from here on.
    void begin(const Launch& launch, std::size_t goal);

    /// Adds a record of this session; sets `record.session` on all ranks.
    template <class Record>
    void keep(Record& record) {
        record.session = session_.id;
        if (!store_) return;
        store_->append(record);
        announce_records();
    }

    /// On stdout.
    void print(const std::string& text);
    /// On stderr, as a line that begins with "tutti: ".
    void warn(const std::string& line);

    /// See ProgressBar::show.
    void show(const std::string& now, std::optional<double> seconds_left = {}) {
        if (bar_) bar_->show(now, seconds_left);
    }
    void step() {
        if (bar_) bar_->step();
    }
    void reach(std::size_t done) {
        if (bar_) bar_->reach(done);
    }

    enum class Outcome { measured, wrong_result, nothing_measured };
    /// The last record, and the exit code for the outcome. A complaint is told where all else went
    /// well, and then rank 0 ends with it. Collective.
    Exit end(Outcome outcome, const std::optional<std::string>& complaint = {});

    /// Runs `work` and lets its errors go on, after it has recorded why the run ended, with the
    /// rank that gave up where that is this one. Errors of usage before begin() are no failures.
    Exit recording_failures(const std::function<Exit()>& work);

private:
    void record(const Error& error, std::optional<Rank> rank);
    void announce_records() const;

    Rank rank_;
    bool is_active_;
    bool has_file_;  // on rank 0
    bool has_begun_ = false;
    Session session_;
    std::int64_t began_ns_;
    std::optional<Store> store_;
    std::optional<ProgressBar> bar_;
    HealthWatch health_;
    std::optional<End> end_;
};

}  // namespace tutti
