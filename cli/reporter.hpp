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

/// Reports a launch from rank 0: tables on stdout, progress on stderr, records in a results file.
/// The other ranks call the same functions without effect.
class Reporter {
public:
    /// Opens the results file unless `file` is empty, and reads the health of the hosts. Throws
    /// Error. Collective.
    Reporter(World& world, Session session, const std::string& file);

    bool is_active() const { return is_active_; }
    const Session& session() const { return session_; }

    /// Returns the health at the start; the same on all ranks.
    const std::vector<HostHealth>& health_at_begin() const { return health_.at_begin(); }
    /// Returns the last record, which end() writes, with the health of the hosts during the launch
    /// until now. The same on all ranks. Collective.
    const End& summary();

    /// Writes the first records. Progress then counts up to `goal`.
    void begin(const Launch& launch, std::size_t goal);

    /// Writes a record of this session; sets `record.session` on all ranks.
    template <class Record>
    void keep(Record& record) {
        record.session = session_.id;
        if (!store_) return;
        store_->append(record);
        announce_records();
    }

    /// Prints to stdout.
    void print(const std::string& text);
    /// Prints a line to stderr, prefixed by "tutti: ".
    void warn(const std::string& line);

    /// Shows progress, see ProgressBar::show.
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
    /// Writes the last record and returns the exit code for the outcome. If everything else
    /// succeeded, rank 0 prints the complaint and returns its exit code. Collective.
    Exit end(Outcome outcome, const std::optional<std::string>& complaint = {});

    /// Runs `work` and rethrows its errors after recording them, with this rank if it is the one
    /// that gave up. Usage errors before begin() are not recorded.
    Exit recording_failures(const std::function<Exit()>& work);

private:
    void record(const Error& error, std::optional<Rank> rank);
    void announce_records() const;

    Rank rank_;
    bool is_active_;
    bool has_file_;  // true if there is a results file
    bool has_begun_ = false;
    Session session_;
    std::int64_t began_ns_;
    std::optional<Store> store_;
    std::optional<ProgressBar> bar_;
    HealthWatch health_;
    std::optional<End> end_;
};

}  // namespace tutti
