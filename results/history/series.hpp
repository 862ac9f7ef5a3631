// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.hpp"
#include "results/history/change_points.hpp"
#include "results/records/reader.hpp"

namespace tutti {

/// One value of a series: the median of what a launch says of the metric.
struct SeriesLaunch {
    std::string t;  ///< when it began
    std::string
        commit;        ///< empty for a comparison, whose commit is that of the tutti that compares
    TextByName facts;  ///< may change within a series: compiler, versions, kernel, host
    double ns = 0;
};

/// One metric over the launches of one fingerprint, in the order of time.
struct Series {
    std::string metric;
    std::string fingerprint;  ///< "7f3a0c11-9be02d": the machine and a hash of `settings`
    std::string words;        ///< describes them
    Json settings;            ///< that have to be equal
    std::string unit;         ///< of the values: "ns", or that of a program's numbers, or none
    std::vector<SeriesLaunch> launches;
};

/// Returns a series for each fingerprint of the one metric that has this name, or all of its words
/// or parts of words; the series with the newest launch first. A name without ranks, hosts and
/// placement, as older versions gave it, means all of them. Of calls in and out of place, those out
/// of place are meant. Throws Error if no metric or several fit.
std::vector<Series> series_of(const Results& results, const std::string& asked);

/// Returns the settings in which two series differ, by name; "machine" if that is another.
std::vector<std::string> differences(const Series& one, const Series& other);

/// A change point with the medians of the launches before and after it, up to the neighbouring
/// changes, and the facts that changed with it.
struct SeriesChange {
    ChangePoint point;
    double before_ns = 0, after_ns = 0;
    struct Fact {
        std::string name, before, after;
    };
    std::vector<Fact> facts;
};

/// Finds the change points of the logarithms, as ratios of times matter.
std::vector<SeriesChange> changes_of(const Series& series, const ChangeTest& test);

/// Returns everything that a page or a picture of a series shows;
/// docs/how-to/reports_and_figures.md describes the fields. `all` are the series of the metric.
Json to_json(const Series& series, std::span<const SeriesChange> changes, const ChangeTest& test,
             std::span<const Series> all);

}  // namespace tutti
