// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "cli/forms/bench_output.hpp"
#include "cli/reporter.hpp"
#include "results/records/share_of_limit.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Reports the points of a sweep: on stdout, as records and for --csv.
class PointReport {
public:
    PointReport(const BenchOptions& options, Reporter& reporter, const Launch& launch,
                BenchOutput& output)
        : options_(options), reporter_(reporter), launch_(launch), output_(output) {}

    void add(std::vector<Point> points);

    /// Shows points that are already in the file; none on ranks that do not print.
    void show(const std::vector<Point>& points);

    /// Tells how many points beat their limits, see limit_line.
    std::string limit_line() const { return tutti::limit_line(all_); }

    /// Lowers the limits of the points measured now to these limits, if lower, and adds a record
    /// about it.
    void lower_limits(const Limits& limits, const Placement& hosts);

    /// Ends the table and the records; `csv` may be closed. Returns the exit code. Collective.
    Exit end(std::ofstream csv);

private:
    std::string rows_of(const std::vector<Point>& points);
    void print(const std::string& rows, const std::vector<Point>& points);
    std::optional<std::string> complaint() const;
    Results this_launch(const End& end) const;

    const BenchOptions& options_;
    Reporter& reporter_;
    const Launch& launch_;
    BenchOutput& output_;
    std::vector<Point> all_;
};

}  // namespace tutti
