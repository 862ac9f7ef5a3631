// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/comparison/comparison_records.hpp"
#include "results/stored/fingerprint.hpp"

namespace tutti {

/// The times of a metric in the launches of 'tutti bench' or 'tutti workload' of a results file: a
/// call by a candidate, or a training step by a method.
struct StoredTimes {
    std::vector<double> ns;  ///< a launch's median each
    int nranks = 0;

    double median_ns() const;
};

/// The metrics of a results file for a comparison.
struct StoredRuns {
    std::vector<std::string> order;  ///< of metrics, as they were measured first
    std::map<std::string, StoredTimes> metrics;
    std::map<std::string, std::string> skipped;  ///< metrics without times, and why
    std::vector<std::string> wrong;              ///< "3 wrong elements in all_reduce ..."
    int launches = 0;  ///< that measured; a run that was resumed counts once
    std::set<std::string> versions;
    std::string first, last;  ///< when its sessions began
    Fingerprint fingerprint;
};

StoredRuns stored_runs(const Results& results);

/// "7 launches of tutti 0.1.0 (7450667d867f), 2026-11-20T18:27:30.551Z"
std::string in_words(const StoredRuns& runs);

/// The verdicts on what both have, the geometric mean last where every launch has measured all of
/// it, and the launches that they are made of. `missing` gets what is
/// not compared, and why; verdicts name `ignored`.
struct StoredComparison {
    std::vector<VerdictRecord> verdicts;
    std::vector<Pair> pairs;
    std::vector<std::string> wrong;
    std::map<std::string, std::string> missing;
};

StoredComparison compare_stored(const StoredRuns& a, const StoredRuns& b, const Rule& rule,
                                const std::vector<std::string>& ignored);

}  // namespace tutti
