// SPDX-License-Identifier: Apache-2.0
#include "cli/point_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "results/tables/csv.hpp"
#include "workloads/limits/least_time.hpp"

namespace tutti {
namespace {

bool is_skipped(const Point& point) { return point.skipped.has_value(); }

}  // namespace

void PointReport::add(std::vector<Point> points) {
    const std::string rows = rows_of(points);
    for (Point& point : points) {
        if (!options_.keep_samples) point.measured.samples.clear();
        reporter_.keep(point);
        point.measured.samples.clear();  // no longer needed
    }
    print(rows, points);
}

void PointReport::show(const std::vector<Point>& points) { print(rows_of(points), points); }

std::string PointReport::rows_of(const std::vector<Point>& points) {
    return reporter_.is_active() && !points.empty() ? output_.rows(points) : "";
}

void PointReport::print(const std::string& rows, const std::vector<Point>& points) {
    reporter_.print(rows);
    reporter_.step();
    all_.insert(all_.end(), points.begin(), points.end());
}

void PointReport::lower_limits(const Limits& limits, const Placement& hosts) {
    LowerLimits lower;
    for (Point& point : all_) {
        if (point.skipped || !point.limit_ns || point.session != reporter_.session().id) continue;
        const double before = *point.limit_ns;
        set_limit(point, std::min(before, least_time(limits, point.key, hosts)));
        if (*point.limit_ns < before) lower.limit_ns[point_id(point.key)] = *point.limit_ns;
    }
    if (!lower.limit_ns.empty()) reporter_.keep(lower);
}

// Points of a part of the run before it was resumed are of the same launch.
Results PointReport::this_launch(const End& end) const {
    Results launch{.launches = {launch_}, .points = all_, .ends = {end}};
    for (Point& point : launch.points) {
        point.session = launch_.session;
        point.launch = launch_.launch;
    }
    return launch;
}

Exit PointReport::end(std::ofstream csv) {
    using Outcome = Reporter::Outcome;
    const End& end = reporter_.summary();
    if (reporter_.is_active()) reporter_.print(output_.end(all_, this_launch(end)));
    Exit code = reporter_.end(std::ranges::any_of(all_, is_wrong) ? Outcome::wrong_result
                              : reporter_.is_active() && std::ranges::all_of(all_, is_skipped)
                                  ? Outcome::nothing_measured
                                  : Outcome::measured,
                              complaint());
    if (code == Exit::ok && reporter_.is_active()) code = output_.code();
    if (!csv.is_open()) return code;
    write_csv(csv, all_);
    csv.close();
    if (!csv)
        throw Error("'" + options_.csv_file +
                    "' could not be written completely: is the disk full?");
    return code;
}

// Returns the message about named candidates that were never measured.
std::optional<std::string> PointReport::complaint() const {
    NamedWords named = options_.named;
    for (const Point& point : all_) {
        const Key& key = point.key;
        if (!point.skipped)
            named.measured(key.configuration);
        else
            named.skipped(key.configuration, fmt::format("{} at {}: {}", candidate_in_words(key),
                                                         to_string(key.bytes), *point.skipped));
    }
    return named.complaint();
}

}  // namespace tutti
