// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cli/compare/launches.hpp"
#include "results/comparison/floors.hpp"
#include "results/stored/stored_runs.hpp"

namespace tutti {

/// A comparison with results files of 'tutti bench'. It is weaker than measuring both together, as
/// the machine may have changed in between.
struct StoredBaseline {
    std::string a;        ///< a file; empty: only B, for its floors
    std::string b;        ///< a file; empty: measured now
    Command job;          ///< the job that measures B
    std::string kept_in;  ///< the file that B's records are appended to; may be empty
    int launches = 12;
    double budget_seconds = 60;
    std::set<std::string> ignored;  ///< fields of the fingerprint that may differ
};

struct BaselineResult {
    StoredComparison compared;
    std::vector<TimeOfCall> calls;  ///< all calls of B, also those that A lacks
    std::string a, b;               ///< descriptions
    int launches = 0;               ///< launches of B made now
    bool ran_out = false;           ///< true if the budget ended them early
};

/// Reads A, measures B unless it is a file, and compares them. If their fingerprints differ, prints
/// a line on stderr for each field and throws Error (not_comparable); wrong results are reported
/// first.
BaselineResult compare_with(const StoredBaseline& baseline, const Rule& rule,
                            const std::function<void(const std::string&)>& tell);

}  // namespace tutti
