// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "results/summary/ranking.hpp"
#include "results/summary/setups.hpp"
#include "results/summary/trust.hpp"

namespace tutti {

/// Points that are compared with each other, and their ranking.
struct RankedTable {
    std::vector<const Point*> points;
    std::string setup;  ///< see Setups; empty if all launches repeat each other
    Ranking ranking;
    std::vector<Note> notes = {};

    std::vector<const RankedCell*> cells() const;
};

/// Training steps that are compared with each other.
struct RankedSteps {
    std::vector<const TrainingStep*> steps;
    std::string setup;
    std::vector<RankedMethod> methods;  ///< the shortest step first
    std::vector<Note> notes;
};

/// Holds what tables, pages and figures of results show: a ranking for each collective, number of
/// ranks, type, kind of memory and setup, and how far the times can be trusted.
struct SummaryTables {
    explicit SummaryTables(const Results& results);
    SummaryTables(const SummaryTables&) = delete;
    SummaryTables& operator=(const SummaryTables&) = delete;

    std::vector<Results> launches;  ///< see by_launch
    std::vector<const Point*> points;
    std::vector<const TrainingStep*> steps;
    Trust trust;
    Setups setups;
    std::vector<RankedTable> tables;
    std::vector<RankedSteps> training;
    std::vector<Note> notes;  ///< of the results as a whole
    std::string verdict;      ///< how far they can be trusted, in one line
};

}  // namespace tutti
