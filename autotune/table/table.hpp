// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/choice/subject.hpp"
#include "base/configuration.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// A time with its 95 % interval in ns from `n` samples; in a table of several launches a sample is
/// a launch's median. Predicted times have no interval.
struct TimeInterval {
    double p50 = 0, low = 0, high = 0;
    std::int64_t n = 0;
    bool operator==(const TimeInterval&) const = default;
};

/// The choice compared with the library's own collective in a separate launch.
struct HoldOut {
    std::string library;  ///< "mpi"
    TimeInterval choice, default_;
    double gain = 1;                     ///< default over choice; above 1: the choice is faster
    double gain_low = 1, gain_high = 1;  ///< its 95 % interval
    std::string launch;                  ///< session of the launch that measured it; empty: several
    bool operator==(const HoldOut&) const = default;
};

/// Measurements at one size.
struct RangeEvidence {
    Bytes size;
    TimeInterval time;
    std::optional<Configuration> runner_up;
    std::optional<TimeInterval> runner_up_time;
    std::optional<HoldOut> hold_out;
    /// the choice of each launch; empty if they agree with the range's choice
    std::vector<Configuration> of_launches = {};
    bool operator==(const RangeEvidence&) const = default;
};

/// Source of a choice: measured here; derived by the model between or next to measured sizes or
/// rank counts (`interpolated`); by the model alone (`predicted`); found while a program ran
/// (`learnt`); the library's default, which no candidate beat significantly (`kept`).
enum class Origin { measured, interpolated, predicted, learnt, kept };
template <>
struct NamesOf<Origin> {
    static constexpr const char* kind = "origin";
    static constexpr Named<Origin> rows[] = {{Origin::measured, "measured"},
                                             {Origin::interpolated, "interpolated"},
                                             {Origin::predicted, "predicted"},
                                             {Origin::learnt, "learnt"},
                                             {Origin::kept, "kept"}};
};

/// One choice for all sizes from `from` up to the next range.
struct Range {
    Bytes from;
    Configuration choice;
    Origin origin = Origin::measured;
    std::vector<RangeEvidence> evidence;
    bool operator==(const Range&) const = default;
};

/// The ranges of one subject for one job shape, ascending from 0 bytes.
struct Section {
    JobShape job_shape;
    Subject subject;
    std::vector<Range> ranges;
    std::vector<std::string> launches;  ///< sessions that measured it
    bool is_complete = true;            ///< the search ended by itself
    std::string measured_at;            ///< RFC 3339, UTC; empty: when its table was written
    bool operator==(const Section&) const = default;
};

/// Returns the range that contains a call of this many bytes.
const Range& range_at(const Section& section, Bytes bytes);

/// The tuner's result: which configuration to use when, with the evidence. docs/reference/tables.md
/// describes the JSON form.
struct Table {
    static constexpr int version = 1;
    std::string written;  ///< RFC 3339, UTC
    std::string tool;     ///< version and revision of tutti
    std::vector<Section> sections;
    std::string model;  ///< the cost model's JSON text; empty: none
    bool operator==(const Table&) const = default;
};

/// Returns null if the table has no such section.
const Section* find_section(const Table& table, const JobShape& job_shape, const Subject& subject);

/// Returns the job shapes of all sections, ascending, each once.
std::vector<JobShape> job_shapes_of(const Table& table);

/// Returns "4 ranks, 2 per host, topology 0123456789ab".
std::string to_string(const JobShape& job_shape);

/// Returns the first digits of a fingerprint, enough for a human to compare.
std::string short_fingerprint(std::string_view fingerprint);

/// Returns the sections of all tables in the order of job shape and subject. Sections for the same
/// job shape and subject are not mixed, because times of different days are not comparable: a
/// complete search wins over an incomplete one, then the later over the earlier, then the table
/// that comes later here. Time of writing and tool are those of the table written last, the model
/// that of the last one with a model. Merging again changes nothing.
Table merged(std::span<const Table> tables);

}  // namespace tutti
#pragma GCC visibility pop
