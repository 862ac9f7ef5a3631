// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "workloads/traces/arrival_log.hpp"

namespace tutti {

ArrivalLog arrivals_in_flight_recorders(const std::vector<RankFile>& files) {
    ArrivalLog log;
    std::map<std::string, std::set<int>> ranks_of_group;
    log.names.resize(as_size(files.back().rank + 1));
    for (const auto& [source, content, rank] : files) {
        at(log.names, rank) = source.name();
        const Fields document(content, source);
        for (const Fields& entry : document.objects("entries")) {
            const std::string full_name = entry.text("profiling_name");
            const std::string name = full_name.substr(full_name.find(':') + 1);
            if (name.starts_with("send") || name.starts_with("recv")) continue;
            std::string group;
            if (entry.has("process_group")) group = text_of(entry.at("process_group"));
            const std::int64_t sequence =
                entry.has("collective_seq_id") ? entry.count("collective_seq_id") : 0;
            ranks_of_group[group].insert(rank);
            const auto ms = number_in(entry, "duration_ms");
            constexpr double ns_per_ms = 1e6;
            add_call(log, rank, {group, name, sequence}, "",
                     ms ? std::optional(*ms * ns_per_ms) : std::nullopt);
        }
    }
    for (const auto& [group, ranks] : ranks_of_group) log.members[group] = ranks.size();
    for (auto& [what, begun] : log.begun)
        for (const int rank : ranks_of_group.at(what.first)) begun.try_emplace(rank, 0);
    return log;
}

}  // namespace tutti
