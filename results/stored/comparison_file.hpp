// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "results/comparison/staged_comparison.hpp"
#include "results/records/reader.hpp"
#include "results/records/store.hpp"
#include "results/views/views.hpp"

namespace tutti {

/// The results file of a running comparison. Without a file nothing is written.
class ComparisonFile {
public:
    /// Appends the session and this machine. Throws Error.
    ComparisonFile(const std::string& file, Session session, const Launch& launch);

    const Session& session() const { return session_; }
    /// Appends the results of a launch as soon as it has ended.
    void append(const StagedLaunch& launch);
    void append(const std::vector<Pair>& pairs);
    /// Appends everything except session and pairs at the end of a comparison.
    void end(const ComparisonRecords& records);
    /// Describes what an interruption would leave.
    std::string kept_text() const;

private:
    template <class Records>
    void append_all(Records records);

    Session session_;
    std::optional<Store> store_;
    int launches_ = 0;
};

/// Returns the comparisons in the order of the records.
std::vector<ComparisonRecords> comparisons_in(const Results& results);

/// Returns the last comparison in the file. Throws Error if there is none.
ComparisonRecords stored_comparison(const std::string& file);

/// Groups the pairs of a comparison by launch.
std::vector<StagedLaunch> launches_of(const std::vector<Pair>& pairs);

}  // namespace tutti
