// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "cli/options/bench_options.hpp"
#include "cli/reporter.hpp"
#include "results/text_table.hpp"

namespace tutti {

/// The rows of the points of one size, kind by kind of buffers; points come candidate by candidate
/// out of place, then again in place. Without --all-rows, of many candidates only those of the
/// fastest, of the fastest library and of candidates that choose for themselves.
std::string rows_of_size(const BenchOptions& options, TableColumns columns,
                         std::span<const Point> points);

/// What the reader has to know of the rows that are left out; empty if none is.
std::vector<std::string> notes_on_rows(const BenchOptions& options, std::size_t candidates);

/// What comes behind the rows: who is fastest at each size, see fastest_table, with what has to be
/// said of `launches`, and the sums.
std::string end_of_table(std::span<const Point> points, std::span<const Launch> launches);

inline bool is_wrong(const Point& point) { return point.measured.check.state == CheckState::fail; }

/// The points of a sweep, as a table, as records and for --csv.
class PointReport {
public:
    PointReport(const BenchOptions& options, Reporter& reporter, const Launch& launch,
                TableColumns columns)
        : options_(options), reporter_(reporter), launch_(launch), columns_(columns) {}

    void add(std::vector<Point> points);

    /// Those that the file holds already; none on ranks that print nothing.
    void show(const std::vector<Point>& points);

    /// The end of the table and of the records; `csv` may be closed. Returns the exit code.
    Exit end(std::ofstream csv);

private:
    std::optional<std::string> complaint() const;

    const BenchOptions& options_;
    Reporter& reporter_;
    const Launch& launch_;
    TableColumns columns_;
    std::vector<Point> all_;
};

}  // namespace tutti
