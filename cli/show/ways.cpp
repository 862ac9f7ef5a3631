// SPDX-License-Identifier: Apache-2.0
#include "cli/show/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "base/source.hpp"
#include "cli/options/values.hpp"
#include "collectives/schedule/count.hpp"
#include "workloads/limits/least_time.hpp"

namespace tutti {

std::vector<int> hosts_of_ranks(const std::string& text, int most) {
    const std::string_view whole = text;
    const auto cross = whole.find('x');
    const auto hosts = decimal_number(whole.substr(0, cross));
    std::vector<int> host_of_rank;
    if (hosts && cross != whole.npos) {
        const auto ranks = decimal_number(whole.substr(cross + 1));
        if (!ranks || *hosts < 1 || *ranks < 1 || *ranks > most / *hosts)
            throw Error(fmt::format(
                "--placement {} is not hosts x ranks, of at most {} ranks; use for example 2x4",
                text, most));
        for (int rank = 0; rank < *hosts * *ranks; ++rank)
            host_of_rank.push_back(static_cast<int>(rank / *ranks));
        return host_of_rank;
    }
    std::map<std::string, int> known;
    for (const std::string& host : split_list(text)) {
        const int next = static_cast<int>(known.size());
        host_of_rank.push_back(known.try_emplace(host, next).first->second);
    }
    return host_of_rank;
}

bool Ways::is_by_message(const Transfer& transfer) const {
    return at(host_of_rank_, transfer.from) != at(host_of_rank_, transfer.to);
}

WayOf Ways::names() const {
    return [*this](const Transfer& transfer) {
        return is_by_message(transfer) ? "message" : "memory";
    };
}

namespace {

// Counts the transfers that go by message, or those that go through memory.
Counts count_of(const Ways& ways, const Schedule& schedule, const CollectiveSpec& spec,
                bool by_message) {
    const Extent extent{schedule.ranks(), schedule.chunks(), schedule.steps()};
    const Schedule part(extent, [&](int step, Step& out) {
        schedule.visit(step, [&](const Transfer& transfer) {
            if (ways.is_by_message(transfer) == by_message) out.add(transfer);
        });
    });
    return count(part, spec);
}

// Returns what the host sends or receives the most of.
long crossing(const Counts& messages, const std::vector<Rank>& host) {
    long sent = 0, received = 0;
    for (const Rank rank : host) {
        sent += at(messages.sent, rank);
        received += at(messages.received, rank);
    }
    return std::max(sent, received);
}

}  // namespace

std::string describe_ways(const Ways& ways, const Schedule& schedule, const CollectiveSpec& spec) {
    const Counts memory = count_of(ways, schedule, spec, false),
                 messages = count_of(ways, schedule, spec, true);
    const auto vectors = [&](long chunks) {
        return fmt::format("{:.4g} n", static_cast<double>(chunks) / messages.chunks_per_vector);
    };
    const auto all_of = [&](const Counts& counts) {
        return vectors(std::accumulate(counts.sent.begin(), counts.sent.end(), 0L));
    };
    const Placement placement = ways.hosts();
    const Grouping& hosts = placement.nodes();
    long busiest = 0;
    for (const auto& host : hosts) busiest = std::max(busiest, crossing(messages, host));
    const Crossing least = least_crossing(
        {.collective = spec.collective(), .type = DataType::uint8, .root = spec.root(), .count = 1},
        placement);
    double of_a_host = least.total / static_cast<double>(hosts.size());
    for (const auto* direction : {&least.out, &least.in})
        of_a_host = std::max(of_a_host, std::ranges::max(*direction));
    const double bytes_of_n = spec.blocks() == 1 ? 1 : spec.ranks();
    return fmt::format(
        "by memory  {:<12} transfers, {}\n"
        "by message {:<12} transfers, {}; lower bound {:.4g} n\n"
        "crosses    {:<12} into or out of the busiest host; lower bound {:.4g} n\n",
        memory.transfers, all_of(memory), messages.transfers, all_of(messages),
        least.total / bytes_of_n, vectors(busiest), of_a_host / bytes_of_n);
}

}  // namespace tutti
