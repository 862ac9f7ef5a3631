// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/source.hpp"
#include "results/comparison/comparison_records.hpp"
#include "results/records/launch.hpp"
#include "results/records/limits.hpp"
#include "results/records/numerics.hpp"
#include "results/records/point.hpp"
#include "results/records/share_of_limit.hpp"
#include "results/records/step.hpp"

namespace tutti {

/// The version of the lines written and understood; grows only when old readers would go wrong.
inline constexpr int schema_version = 1;

/// The build of tutti that wrote the records.
struct Tool {
    std::string version;
    std::string git;
    bool dirty = false;
    std::string build_type;
    std::string compiler;
    std::string flags;

    bool operator==(const Tool&) const = default;
};

/// One command of the user; holds one launch or more.
struct Session {
    std::string id;  // see new_session_id
    std::string t;   // see utc_now
    Tool tool;
    std::vector<std::string> argv;
    std::string cwd;
    std::uint64_t seed = 0;
    std::string plan_sha256;
    TextByName plan;  // the options as understood, defaults filled in
    std::optional<std::string> resume_of;

    bool operator==(const Session&) const = default;
};

/// Something went wrong; `point` is its id where it happened in one.
struct Fail {
    std::string session;
    int launch = 1;
    std::optional<std::string> point;
    std::string phase;
    std::string what;  // timeout, signal, exit, mpi_error, check, oom, enospc
    std::optional<Rank> rank;
    std::string host;
    int code = 0;
    int signal = 0;
    std::int64_t last_beat_ns = 0;
    std::string stderr_tail;
    std::string stacks;

    bool operator==(const Fail&) const = default;
};

/// A launch ran to its end. A launch without one was interrupted.
struct End {
    std::string session;
    int launch = 1;
    bool ok = true;
    std::int64_t wall_ns = 0;
    std::vector<HostHealth> health;  // over the launch

    bool operator==(const End&) const = default;
};

/// One object of JSON, without the newline. Text that is no UTF-8 is repaired, not refused.
std::string to_json_line(const Session& session);
std::string to_json_line(const Launch& launch);
std::string to_json_line(const Point& point);
std::string to_json_line(const TrainingStep& step);
std::string to_json_line(const Fail& fail);
std::string to_json_line(const End& end);
std::string to_json_line(const Limits& limits);
std::string to_json_line(const LowerLimits& limits);
std::string to_json_line(const Pair& pair);
std::string to_json_line(const VerdictRecord& verdict);
std::string to_json_line(const FloorRecord& floor);
std::string to_json_line(const StepGrowth& times);
std::string to_json_line(const PointOverLaunches& point);
std::string to_json_line(const StepOverLaunches& step);
std::string to_json_line(const Numerics& numerics);

/// monostate: a kind that a newer tutti writes.
using Record = std::variant<std::monostate, Session, Launch, Point, TrainingStep, Fail, End, Limits,
                            Pair, VerdictRecord, FloorRecord, StepGrowth, PointOverLaunches,
                            StepOverLaunches, Numerics, LowerLimits>;

/// The inverse of to_json_line, of line `number` of the source; unknown fields are ignored. Throws
/// NotJson where the line is no JSON (torn while it was written), Error with file and line for
/// everything else that is wrong.
Record parse_json_line(std::string_view line, const Source& source, int number = 1);

/// The same of a line that another rank sent.
inline Record parse_json_line(std::string_view line) {
    return parse_json_line(line, Source("", "record"));
}

/// JSON Schema (draft 2020-12) of a line: which fields it must have, of which type. Kinds and
/// fields that it does not know are allowed, as by parse_json_line.
std::string json_schema();

}  // namespace tutti
