// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/table/table.hpp"
#include "autotune/tuner/calibration.hpp"
#include "autotune/tuner/race_log.hpp"
#include "results/record.hpp"

namespace tutti {

/// Rank 0's table and log of races, written as they grow: whatever ends the job, what is known by
/// then is on disk, and the table is a valid one.
class Notebook {
public:
    /// Sections of other ranks or subjects that `file` holds already stay. With `goes_on` the races
    /// of an interrupted search are read; `plan` is a digest of all that was asked for. Throws
    /// Error.
    Notebook(std::string file, const Setting& setting, const Session& session,
             const std::string& plan, bool goes_on);

    const std::vector<RaceLog::Entry>& earlier() const { return log_.earlier(); }
    void add(const RaceLog::Entry& entry) { log_.append(entry); }
    void add(const Subject& subject, const TuneCost& cost) { log_.append(subject, cost); }

    /// In place of what the table said of this subject on these ranks.
    void put(const Section& section);
    void put(const Calibration& calibration);
    const Table& table() const { return table_; }

private:
    std::string file_;
    Table table_;
    RaceLog log_;
};

}  // namespace tutti
