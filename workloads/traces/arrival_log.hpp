// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/traces/trace_forms.hpp"

namespace tutti {

/// A collective, the same on all ranks of its group.
struct JointCall {
    std::string group, name;
    std::int64_t sequence = 0;
    auto operator<=>(const JointCall&) const = default;
};

/// The times of a rank in all calls from one call site, a place in a program.
struct CallSums {
    std::int64_t calls = 0;
    double mean_ns = 0, least_ns = 0, most_ns = 0;
};

/// The logs of all ranks, which are numbered as in the whole job.
struct ArrivalLog {
    std::vector<std::string> names;                       ///< by rank
    std::map<int, std::string> faults;                    ///< why a rank did not answer, by rank
    std::map<JointCall, std::map<int, double>> times_ns;  ///< by rank; it has ended there
    std::map<std::string, std::size_t> members;           ///< ranks of a group
    /// Collectives that each rank has begun, by group and what is counted
    std::map<std::pair<std::string, std::string>, std::map<int, std::int64_t>> begun;
    /// In place of single calls: sums by call site and rank
    std::map<std::string, std::map<int, CallSums>> sums;
};

/// Returns whether the name is that of a collective.
bool is_collective(const std::string& name);
/// Returns whether all ranks wait for the last one. In other collectives a rank may be done early.
bool waits_for_all(const std::string& name);

/// Adds a call. `counted` is what the sequence numbers of the group count: calls of this name, or
/// all ("").
void add_call(ArrivalLog& log, int rank, const JointCall& call, const std::string& counted,
              std::optional<double> took_ns);

/// Returns the number of a field; none if it is absent or null.
std::optional<double> number_in(const Fields& of, const char* name);

// Readers for each kind of log. They throw Error naming file and line.
ArrivalLog arrivals_in_nccl_logs(const std::vector<RankFile>& files);
ArrivalLog arrivals_in_nccl_debug(const std::vector<RankFile>& files);
ArrivalLog arrivals_in_ras(const std::vector<RankFile>& files);
ArrivalLog arrivals_in_flight_recorders(const std::vector<RankFile>& files);
ArrivalLog arrivals_in_profiles(const std::vector<RankFile>& files);
ArrivalLog arrivals_in_mpip(const std::vector<RankFile>& files);

}  // namespace tutti
