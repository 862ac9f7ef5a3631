// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/traces/trace_forms.hpp"

namespace tutti {

/// A rank of a communicator.
struct NcclMember {
    std::string communicator;
    std::int64_t rank = 0;
    auto operator<=>(const NcclMember&) const = default;
};

/// A call in a log of NCCL, its inspector or libtutti_nccl.so.
struct LoggedNcclCall {
    Fields place;
    NcclMember member;
    std::string name, type;
    std::int64_t count = 0;     ///< elements, of a block for collectives of blocks
    std::int64_t peer = -1;     ///< rank of the communicator; -1: a collective
    std::int64_t root = -1;     ///< rank of the communicator; -1: not logged
    std::int64_t sequence = 0;  ///< NCCL's number of the call among those of this name
    std::optional<std::int64_t> began_ns;
    std::optional<std::int64_t> took_ns;  ///< on the GPU; none: it has not ended
};

struct LoggedNcclProcess {
    std::vector<LoggedNcclCall> calls;          ///< in the order of the log
    std::map<std::string, std::int64_t> ranks;  ///< by communicator
};

/// The logs of a job. They know a process only as a rank of its communicators.
struct NcclLogs {
    std::map<std::string, LoggedNcclProcess> processes;  ///< by "HOST:PID"
    std::map<std::string, std::int64_t> sizes;           ///< ranks of each communicator
    std::map<NcclMember, std::string> process_of;
    std::vector<std::string> notes;  ///< what the logs do not have

    /// Returns the communicator of all ranks: the largest one.
    const std::string& of_all() const;
};

/// Adds a process as a rank of a communicator. Throws Error at `line` if logs contradict it.
void add_member(NcclLogs& logs, const Fields& line, const NcclMember& member, std::int64_t ranks,
                const std::string& process);

/// Throws Error if there is no communicator, or if a process is not a rank of the largest one.
void require_communicator_of_all(const NcclLogs& logs, const Fields& first);

/// Reads documents with "nccl_lines". Throws Error naming file and line, also if a process is not a
/// rank of the largest communicator.
NcclLogs read_nccl_logs(const std::vector<RankFile>& files);

/// Converts the calls to a trace. `first` is the place for errors.
OpsTrace ops_of(const NcclLogs& logs, const Fields& first, std::string& note);
ArrivalLog arrivals_of(const NcclLogs& logs);

}  // namespace tutti
