// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/table/table.hpp"
#include "autotune/tuner/calibration.hpp"
#include "autotune/tuner/race_log.hpp"
#include "results/records/record.hpp"

namespace tutti {

/// The table of 'tutti tune' and its log of samples (FILE.races). Both are written continuously, so
/// an interrupted job keeps its results. The table's file is created with the first section. Only
/// on rank 0.
class TableWriter {
public:
    /// Keeps what `file` already contains for other ranks or subjects. Throws Error.
    TableWriter(std::string file, const Session& session);

    /// Starts to log samples to FILE.races. With `resumes`, reads those of an interrupted search
    /// first; `plan` contains all options. Throws Error.
    void open_log(const JobShape& shape, const std::string& plan, bool resumes);
    /// Returns the samples of the interrupted search.
    std::vector<RaceLog::Entry> earlier() const {
        return log_ ? log_->earlier() : std::vector<RaceLog::Entry>{};
    }
    void add(const RaceLog::Entry& entry) {
        if (log_) log_->append(entry);
    }
    void add(const Subject& subject, const TuneCost& cost) {
        if (log_) log_->append(subject, cost);
    }

    /// Replaces the section of this subject on these ranks.
    void put(const Section& section);
    /// Replaces the section during a search, unless the table has one with more sizes from an
    /// earlier run.
    void put_draft(const Section& section);
    void put(const Calibration& calibration);
    const Table& table() const { return table_; }

private:
    void keep() const;

    std::string file_;
    Table table_;
    std::optional<RaceLog> log_;
};

/// Reads a table; returns an empty one if the file does not exist. Throws Error.
Table table_in(const std::string& file);

/// Writes the table unless it has no sections. Throws Error.
void keep_if_any(const Table& table, const std::string& file);

/// Throws Error if the table has no sections.
void expect_sections(const Table& table, const std::string& file);

/// Merges a newer model into the table's model `known` (text of `file`; may be empty).
std::string model_with(const CostModel& newer, const std::string& known, const std::string& file);

/// Returns for example "butterfly/shm; from 6K two-shot/shm".
std::string in_a_line(const std::vector<Range>& ranges);

}  // namespace tutti
