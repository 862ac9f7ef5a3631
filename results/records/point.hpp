// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/level.hpp"
#include "base/name_table.hpp"
#include "results/records/key.hpp"
#include "results/statistics/bandwidth.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {

/// How the ranks were brought to start together.
enum class Start { deadline, barrier, back_to_back };
template <>
struct NamesOf<Start> {
    static constexpr const char* kind = "mode";
    static constexpr Named<Start> rows[] = {
        {Start::deadline, "deadline"}, {Start::barrier, "barrier"}, {Start::back_to_back, "b2b"}};
};

/// The begin of the time of a call: the last rank's arrival, the first one's, or each rank's
/// own (then the slowest rank counts, and no common clock is needed).
enum class TimeFrom { last_arrival, first_arrival, max_local };
template <>
struct NamesOf<TimeFrom> {
    static constexpr const char* kind = "time definition";
    static constexpr Named<TimeFrom> rows[] = {{TimeFrom::last_arrival, "last_arrival"},
                                               {TimeFrom::first_arrival, "first_arrival"},
                                               {TimeFrom::max_local, "max_local"}};
};

enum class CheckState { ok, fail, skipped };
template <>
struct NamesOf<CheckState> {
    static constexpr const char* kind = "check state";
    static constexpr Named<CheckState> rows[] = {
        {CheckState::ok, "ok"}, {CheckState::fail, "fail"}, {CheckState::skipped, "skipped"}};
};

/// Whether the right numbers came out.
struct Check {
    CheckState state = CheckState::skipped;
    std::int64_t n_wrong = 0;
    std::optional<double> max_ulp;

    bool operator==(const Check&) const = default;
};

/// Bytes that the network interfaces of one host moved per call, with headers, acknowledgements and
/// the traffic that starts the calls.
struct NetworkBytes {
    int host = 0;  // the busiest, by its number in the launch
    double tx_per_call = 0;
    double rx_per_call = 0;

    struct Interface {
        std::string name;
        double tx_per_call = 0;
        double rx_per_call = 0;
        bool operator==(const Interface&) const = default;
    };
    std::vector<Interface> interfaces;

    bool operator==(const NetworkBytes&) const = default;
};

/// The mean power of one meter during the timed calls: of a package or a GPU, for all programs.
struct Power {
    int host = 0;  // by its number in the launch
    std::string meter;
    double watts = 0;

    bool operator==(const Power&) const = default;
};

/// The times of repeated calls of one candidate. The same on all ranks.
struct Measured {
    std::vector<std::int64_t> samples;  ///< ns, in order, without warm-up; empty where not kept
    Start start = Start::barrier;
    TimeFrom from = TimeFrom::max_local;
    std::int64_t n_invalid = 0;        ///< calls thrown away because a rank came late
    std::int64_t n_warm = 0;           ///< calls before the first sample that counts
    std::int64_t calls_of_sample = 1;  ///< back to back, of which a sample is the mean
    std::string stop_reason;           ///< "target_ci", "max_time", "max_n", "fixed_n"
    std::int64_t skew_p50_ns = 0;
    std::int64_t device_p50_ns = 0;      ///< of a call by the slowest device's own clock; 0: none
    std::int64_t clock_residual_ns = 0;  ///< how far the hosts' clocks were apart, at most
    std::map<Rank, std::int64_t> stragglers;    ///< how often a rank was the last
    std::optional<NetworkBytes> network_bytes;  ///< of the timed calls; several hosts only
    std::optional<double> energy_J;             ///< of a call, by all packages of all hosts
    std::optional<double> gpu_energy_J;         ///< likewise by all GPUs
    std::vector<Power> power;                   ///< by meter
    Check check;

    bool operator==(const Measured&) const = default;
};

/// The transfers of a call at one level of the machine: between ranks that share a part of this
/// level, but no part of a smaller one.
struct LevelShare {
    std::optional<Level> within;  ///< none: between the parts of the largest level
    std::int64_t bytes = 0;       ///< sent by all ranks
    std::int64_t messages = 0;
    /// The time of the steps whose farthest transfer is at this level, measured in separate calls.
    /// The sum over the levels is the time of such a call. None if steps are not visible.
    std::optional<std::int64_t> ns;

    bool operator==(const LevelShare&) const = default;
};

/// One candidate at one size in one launch: its times, or why there are none.
struct Point {
    std::string session;
    int launch = 1;
    Key key;
    std::optional<std::string> skipped;  // the reason; then nothing below has a meaning

    Measured measured;
    Summary time;                        // ns, over the calls that count
    Bandwidth bandwidth;                 // from the median
    std::optional<double> limit_ns;      // the least time that this machine allows, if known
    std::optional<double> pct_of_limit;  // 100 * limit_ns / median
    std::optional<double> predicted_ns;  // prediction of the cost model
    std::string choice;                  // the table's choice, if one was used
    std::vector<LevelShare> levels;      // from the smallest; empty where there is only one

    bool operator==(const Point&) const = default;
};

inline bool is_wrong(const Point& point) { return point.measured.check.state == CheckState::fail; }

/// A candidate at one size over several launches. Its times are of their medians, so that the
/// interval is that between launches.
struct PointOverLaunches {
    int launches = 0;
    Point point;

    bool operator==(const PointOverLaunches&) const = default;
};

}  // namespace tutti
