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

/// Results files of 'tutti bench' instead of launches of both: weaker, as the machine may have
/// changed in between.
struct StoredBaseline {
    std::string a;        ///< a file; empty: B alone, for its floors
    std::string b;        ///< a file; empty: measured now
    Command job;          ///< that measures B
    std::string kept_in;  ///< what it measures: a file to append to; empty: none
    int launches = 12;
    double budget_seconds = 60;
    std::set<std::string> ignored;  ///< fields of the fingerprint that may differ
};

struct BaselineResult {
    StoredComparison compared;
    std::vector<TimeOfCall> calls;  ///< of B, also of those that A lacks
    std::string a, b;               ///< in words
    int launches = 0;               ///< of B that were made now
    bool ran_out = false;           ///< the budget ended them early
};

/// Reads A, measures B unless that is a file, and compares. Throws Error (not_comparable) where
/// their fingerprints differ, after a line on stderr for each field; wrong results come first.
BaselineResult compare_with(const StoredBaseline& baseline, const Rule& rule,
                            const std::function<void(const std::string&)>& tell);

}  // namespace tutti
