// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "results/records/reader.hpp"
#include "results/records/store.hpp"
#include "results/views/views.hpp"

namespace tutti {

/// The results file of a comparison that is under way. Without a file nothing is written.
class ComparisonFile {
public:
    /// Appends the session and this machine. Throws Error.
    ComparisonFile(const std::string& file, Session session);

    const Session& session() const { return session_; }
    /// What a launch told, as soon as it has ended.
    void append(const StagedLaunch& launch);
    void append(const std::vector<Pair>& pairs);
    /// All but pairs and session of a comparison that has come to its end.
    void end(const ComparisonRecords& records);
    /// What an interruption would leave, in words.
    std::string kept_in_words() const;

private:
    template <class Records>
    void append_all(Records records);

    Session session_;
    std::optional<Store> store_;
    int launches_ = 0;
};

/// What each comparison said, in the order of the records.
std::vector<ComparisonRecords> comparisons_in(const Results& results);

/// What the file's last comparison said. Throws Error if it holds none.
ComparisonRecords stored_comparison(const std::string& file);

/// The launches that the pairs of a comparison are of.
std::vector<StagedLaunch> launches_of(const std::vector<Pair>& pairs);

}  // namespace tutti
