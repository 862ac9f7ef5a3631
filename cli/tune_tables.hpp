// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/table/table.hpp"
#include "autotune/tuner/calibration.hpp"
#include "autotune/tuner/race_log.hpp"
#include "cli/options/tune_options.hpp"
#include "results/records/record.hpp"

namespace tutti {

/// The table of 'tutti tune' and its log of samples (FILE.races). Both are written as they grow, so
/// an interrupted job keeps its results. The table's file appears with the first section. On rank 0
/// only.
class TableWriter {
public:
    /// What `file` holds already of other ranks or subjects stays. Throws Error.
    TableWriter(std::string file, const Session& session);

    /// From here on samples are kept in FILE.races. With `resumes` those of an interrupted search
    /// are read; `plan` holds all that was asked for. Throws Error.
    void open_log(const JobShape& shape, const std::string& plan, bool resumes);
    /// Samples of the interrupted search.
    std::vector<RaceLog::Entry> earlier() const {
        return log_ ? log_->earlier() : std::vector<RaceLog::Entry>{};
    }
    void add(const RaceLog::Entry& entry) {
        if (log_) log_->append(entry);
    }
    void add(const Subject& subject, const TuneCost& cost) {
        if (log_) log_->append(subject, cost);
    }

    /// In place of what the table said of this subject on these ranks.
    void put(const Section& section);
    /// Of a search that is under way: not in place of what knows more sizes, from an earlier day.
    void put_draft(const Section& section);
    void put(const Calibration& calibration);
    const Table& table() const { return table_; }

private:
    void keep() const;

    std::string file_;
    Table table_;
    std::optional<RaceLog> log_;
};

/// An empty one where there is no such file. Throws Error.
Table table_in(const std::string& file);

/// Writes the table unless it has no section: such a file would be useless. Throws Error.
void keep_if_any(const Table& table, const std::string& file);

/// Throws Error for a table without any.
void expect_sections(const Table& table, const std::string& file);

/// A table's model, which `file` has as the text `known` (empty: none), with what a newer one
/// knows.
std::string model_with(const CostModel& newer, const std::string& known, const std::string& file);

/// "butterfly/shm; from 6K two-shot/shm"
std::string in_a_line(const std::vector<Range>& ranges);

// What 'tutti tune' does with tables without any ranks. All throw Error.
Exit explain_tables(const TuneOptions& options);
Exit merge_tables(const TuneOptions& options);
/// A table by the model of --table, or of this machine as it was measured last.
Exit predict_table(const TuneOptions& options);

}  // namespace tutti
