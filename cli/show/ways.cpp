// SPDX-License-Identifier: Apache-2.0
#include "cli/show/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/source.hpp"
#include "cli/options/values.hpp"
#include "topology/import/import.hpp"
#include "topology/placement/order.hpp"
#include "topology/routes/rings.hpp"

namespace tutti {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& problem) {
    throw Error(fmt::format(
        "--placement {} {}; use for example 2x4, a,a,b, host:2,numa:4,rank:8 or a machine's file",
        text, problem));
}

// Parses "host:64,package:2,rank:96".
Placement parse_parts(const std::string& text, int most) {
    std::vector<PartCount> parts;
    int ranks_per_part = 0;
    std::int64_t ranks = 1;
    for (const std::string& item : split_list(text)) {
        const auto colon = item.find(':');
        const std::string name = item.substr(0, colon);
        const auto count = colon == item.npos
                               ? std::nullopt
                               : decimal_number(std::string_view(item).substr(colon + 1));
        if (!count || *count < 1) refuse(text, fmt::format("has no number of parts in '{}'", item));
        if (*count > most / ranks) refuse(text, fmt::format("has more than {} ranks", most));
        ranks *= *count;
        if (ranks_per_part > 0) refuse(text, "has a level after the ranks");
        if (name == "rank") {
            ranks_per_part = static_cast<int>(*count);
            continue;
        }
        const Level level = parse_as<Level>(name);
        if (!parts.empty() && parts.back().level <= level)
            refuse(text, fmt::format("has '{}' inside a smaller level", name));
        parts.push_back({level, static_cast<int>(*count)});
    }
    return Placement::in_parts(parts, std::max(ranks_per_part, 1));
}

// Parses "h100.xml" or, with `copies`, "64xh100.xml".
Placement fill_machine(const std::string& text, const std::string& file, std::int64_t copies,
                       int most) {
    Machine machine = read_machine(file);
    if (copies > 1 && machine.hosts.size() != 1)
        refuse(text, "copies a description of several hosts");
    if (copies < 1 || copies > most) refuse(text, fmt::format("has more than {} hosts", most));
    if (copies > 1) machine = copies_of(machine.hosts.front(), static_cast<int>(copies));
    const std::vector<RankBinding> bindings = bindings_that_fill(machine);
    if (std::ssize(bindings) > most) refuse(text, fmt::format("has more than {} ranks", most));
    return placement_of(bindings);
}

// Parses the host of each rank: "a,a,b".
Placement parse_hosts(const std::string& text) {
    std::vector<int> host_of_rank;
    std::map<std::string, int> known;
    for (const std::string& host : split_list(text)) {
        const int next = static_cast<int>(known.size());
        host_of_rank.push_back(known.try_emplace(host, next).first->second);
    }
    return Placement::by_label(host_of_rank);
}

}  // namespace

Placement parse_placement(const std::string& text, int most) {
    if (std::filesystem::is_regular_file(text)) return fill_machine(text, text, 1, most);
    if (text.find(':') != text.npos) return parse_parts(text, most);
    const std::string_view whole = text;
    const auto cross = whole.find('x');
    const auto hosts = decimal_number(whole.substr(0, cross));
    if (!hosts || cross == whole.npos) return parse_hosts(text);
    const std::string each = text.substr(cross + 1);
    if (std::filesystem::is_regular_file(each)) return fill_machine(text, each, *hosts, most);
    const auto ranks = decimal_number(each);
    if (!ranks || *hosts < 1 || *ranks < 1 || *ranks > most / *hosts)
        throw Error(fmt::format(
            "--placement {} is not hosts x ranks, of at most {} ranks; use for example 2x4", text,
            most));
    return Placement::in_nodes_of(static_cast<int>(*hosts * *ranks), static_cast<int>(*ranks));
}

Ways::Ways(Placement placement) : placement_(std::move(placement)) {
    const Grouping& hosts = placement_.nodes();
    for (std::size_t host = 0; host < hosts.size(); ++host)
        for (const Rank rank : hosts[host]) {
            if (rank.index >= ranks()) host_of_rank_.resize(as_size(rank) + 1);
            at(host_of_rank_, rank) = static_cast<int>(host);
        }
}

bool Ways::is_by_message(const Transfer& transfer) const {
    return at(host_of_rank_, transfer.from) != at(host_of_rank_, transfer.to);
}

WayOf Ways::names() const {
    return [*this](const Transfer& transfer) {
        return is_by_message(transfer) ? "message" : "memory";
    };
}

std::vector<RankGroups> groups_to_count(const Ways& ways) {
    std::vector<RankGroups> groups;
    for (const PlacementLevel& level : ways.placement().levels()) groups.push_back(level.groups);
    groups.push_back(ways.placement().nodes());
    groups.push_back(each_alone(ways.ranks()));
    return groups;
}

std::string describe_ways(const Ways& ways, const CollectiveSpec& spec,
                          std::span<const Counts> counts) {
    const std::vector<PlacementLevel>& levels = ways.placement().levels();
    const Counts &hosts = counts[levels.size()], &all = counts.back();

    // Bounds are in the vector, or in blocks of one rank.
    const double blocks_of_n = spec.blocks() == 1 ? 1 : spec.ranks();
    const auto vectors = [](double count) { return fmt::format("{:.4g} n", count); };
    const LeastCrossing least = least_crossing(spec, ways.placement().nodes());
    std::string text = fmt::format(
        "by memory  {:<12} transfers, {}\n"
        "by message {:<12} transfers, {}; lower bound {}\n"
        "crosses    {:<12} into or out of the busiest host; lower bound {}\n",
        all.transfers - hosts.transfers, vectors(vectors_in(all) - vectors_in(hosts)),
        hosts.transfers, vectors(vectors_in(hosts)), vectors(least.total / blocks_of_n),
        vectors(hosts.busiest()), vectors(least.busiest() / blocks_of_n));
    if (levels.size() < 2) return text;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const LeastCrossing least_here = least_crossing(spec, levels[i].groups);
        text += fmt::format(
            "{:<10} {:<12} between {}, lower bound {}; {} messages, lower bound {}\n",
            name_of(levels[i].level), vectors(vectors_in(counts[i])), levels[i].groups.size(),
            vectors(least_here.total / blocks_of_n), counts[i].messages, least_here.messages);
    }
    return text;
}

}  // namespace tutti
