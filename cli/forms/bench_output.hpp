// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>

#include "base/types.hpp"
#include "cli/options/bench_options.hpp"
#include "results/records/reader.hpp"
#include "results/tables/fastest.hpp"
#include "results/tables/text_table.hpp"

namespace tutti {

/// Prints a sweep on stdout as tutti's table or in the format of another suite. Only the printing
/// rank calls it, in this order; the functions return whole lines.
class BenchOutput {
public:
    virtual ~BenchOutput() = default;

    /// Called before anything is timed, with the number of candidates. Throws Error for a file that
    /// cannot be written.
    virtual std::string begin(const Launch& launch, std::span<const std::string> notes,
                              std::size_t candidates) = 0;
    /// Formats the points of one size, in the order of SweepEvents::after_point, with their
    /// samples. `fastest` ranks them over all launches.
    virtual std::string rows(std::span<const Point> points, const Fastest& fastest) = 0;
    /// Called at the end. `all` has each point once, over all launches; `launches` has the points
    /// of each launch.
    virtual std::string end(std::span<const Point> all, const Results& launches) = 0;
    /// Returns true if the output shows points relative to the machine's limits.
    virtual bool shows_limits() const { return false; }
    /// Call after end(). Returns the exit code for other failures than wrong results.
    virtual Exit code() const { return Exit::ok; }
};

/// Makes the output that --like requests. Throws Error if the options do not fit; writes nothing
/// yet.
std::unique_ptr<BenchOutput> make_output(const BenchOptions& options, TableColumns columns = {});

/// Formats the rows of records, call by call. `launches` are the points of all launches, `points`
/// has each of them once.
std::string rows_of_records(BenchOutput& output, std::span<const Point> points,
                            std::span<const Point> launches);

/// Counts the candidates of a sweep from its records.
std::size_t candidates_of(std::span<const Point> points);

// The formats, one file each. `details` are the words after the format's name.
std::unique_ptr<BenchOutput> own_output(const BenchOptions& options, TableColumns columns);
std::unique_ptr<BenchOutput> output_like_nccl_tests(const BenchOptions& options,
                                                    std::span<const std::string> details);
std::unique_ptr<BenchOutput> output_like_osu(const BenchOptions& options,
                                             std::span<const std::string> details);

/// Returns the candidate to show in a table with one row per size: one with a wrong result,
/// otherwise the fastest, otherwise a skipped one. `points` have one size and kind of buffers, and
/// are not empty.
TableRow row_of_fastest(std::span<const Point> points, const Fastest& fastest);

/// Returns why parts of the row were skipped, as comments; empty if none were.
std::string skips_of(const TableRow& row);

/// Returns the point if it was measured, otherwise null.
inline const Point* measured_or_none(const Point* point) {
    return point != nullptr && !point->skipped ? point : nullptr;
}

/// Returns true if OSU micro-benchmarks count the size of one rank's block, false if that of the
/// whole vector.
inline bool osu_counts_blocks(Collective collective) {
    return !reduces(collective) && collective != Collective::broadcast;
}

}  // namespace tutti
