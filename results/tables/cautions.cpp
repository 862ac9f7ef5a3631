// SPDX-License-Identifier: Apache-2.0
#include "results/tables/cautions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "results/summary/cores.hpp"

namespace tutti {
namespace {

struct Busy {
    int launches = 0;
    double most_load = 0;
    int cores = 0;
};

// Empty of a single launch.
std::string how_often(std::size_t launches, std::size_t of) {
    return of <= 1 ? "" : fmt::format(", in {} of {} launches", launches, of);
}

void add_busy(std::span<const Launch> launches, std::vector<std::string>& lines) {
    std::map<std::string, Busy> busy_hosts;
    for (const Launch& launch : launches)
        for (const HostRecord& host : launch.hosts) {
            if (host.loadavg1 <= busy_share * host.cores) continue;
            Busy& busy = busy_hosts[host.name];
            ++busy.launches;
            busy.most_load = std::max(busy.most_load, host.loadavg1);
            busy.cores = host.cores;
        }
    for (const auto& [host, busy] : busy_hosts)
        lines.push_back(fmt::format(
            "host {} is busy with other programs{} (load {:.1f} on {} cores): times vary more",
            host, how_often(as_size(busy.launches), launches.size()), busy.most_load, busy.cores));
}

// Reports each bad reading of a host once, with its worst value over the launches.
void add_health(std::span<const Launch> launches, std::span<const End> ends,
                std::vector<std::string>& lines) {
    struct Wrong {
        std::set<std::pair<std::string, int>> launches;
        HealthReading worst;
    };
    std::map<std::pair<std::string, std::string>, Wrong> found;  // by host and name of the reading
    const auto look_at = [&](const auto& record) {
        for (const HostHealth& host : record.health)
            for (const HealthReading& reading : host.readings) {
                if (reading.wrong.empty()) continue;
                Wrong& wrong = found[{host.host, reading.name}];
                wrong.launches.emplace(record.session, record.launch);
                if (wrong.worst.name.empty() || is_worse(reading, wrong.worst))
                    wrong.worst = reading;
            }
    };
    for (const Launch& launch : launches) look_at(launch);
    for (const End& end : ends) look_at(end);
    for (const auto& [of, wrong] : found)
        lines.push_back(fmt::format(
            "host {}{}{}: {}", of.first, how_often(wrong.launches.size(), launches.size()),
            wrong.launches.size() > 1 ? ", at worst" : "", wrong.worst.wrong));
}

}  // namespace

std::vector<std::string> cautions(std::span<const Launch> launches, std::span<const End> ends) {
    std::vector<std::string> lines;
    add_busy(launches, lines);
    add_health(launches, ends, lines);
    if (std::ranges::any_of(launches, is_oversubscribed))
        lines.emplace_back(
            "more ranks than cores: ranks share cores, so times depend on the scheduler");
    return lines;
}

std::string cautions_below(std::span<const Launch> launches, std::span<const End> ends) {
    std::string text;
    for (const std::string& caution : cautions(launches, ends)) text += "# but: " + caution + '\n';
    return text;
}

}  // namespace tutti
