// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/arrival_log.hpp"
#include "workloads/traces/nccl_log.hpp"

namespace tutti {

ArrivalLog arrivals_of(const NcclLogs& logs) {
    const std::string& all = logs.of_all();
    ArrivalLog log;
    log.names.resize(static_cast<std::size_t>(logs.sizes.at(all)));
    for (const auto& [communicator, size] : logs.sizes)
        log.members[communicator] = static_cast<std::size_t>(size);
    for (const auto& [name, process] : logs.processes) {
        const auto rank = static_cast<int>(process.ranks.at(all));
        at(log.names, rank) = name;
        for (const LoggedNcclCall& call : process.calls)
            if (call.peer < 0)
                add_call(log, rank, {call.member.communicator, call.name, call.sequence}, call.name,
                         call.took_ns ? std::optional(static_cast<double>(*call.took_ns))
                                      : std::nullopt);
    }
    for (auto& [what, begun] : log.begun)  // also ranks that have begun none
        for (const auto& [name, process] : logs.processes)
            if (process.ranks.contains(what.first))
                begun.try_emplace(static_cast<int>(process.ranks.at(all)), 0);
    return log;
}

ArrivalLog arrivals_in_nccl_logs(const std::vector<RankFile>& files) {
    return arrivals_of(read_nccl_logs(files));
}

}  // namespace tutti
