// SPDX-License-Identifier: Apache-2.0
#include "workloads/candidates.hpp"

#include <algorithm>
#include <set>

namespace tutti {
namespace {

bool asks_for_all(const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "all") != names.end();
}

// The rows that `names` say, each once and in the order of `all`. `find` throws for unknown names,
// also beside "all".
template <class Row, class Find>
std::vector<const Row*> chosen(const std::vector<std::string>& names, std::vector<const Row*> all,
                               Find&& find) {
    std::set<const Row*> wanted;
    for (const auto& name : names)
        if (name != "all" && name != "none") wanted.insert(find(name));
    if (!asks_for_all(names))
        std::erase_if(all, [&](const Row* row) { return !wanted.contains(row); });
    return all;
}

template <class Row>
std::vector<const Row*> pointers(std::span<const Row> rows) {
    std::vector<const Row*> all;
    for (const Row& row : rows) all.push_back(&row);
    return all;
}

}  // namespace

std::string Candidate::name() const { return is_ours() ? algorithm + "/" + transport : impl; }

std::vector<Candidate> candidates(Collective collective, const Contest& contest) {
    const auto ours = chosen(contest.algorithms, algorithms_of(collective),
                             [&](const auto& name) { return &find_algorithm(collective, name); });
    const auto ways = chosen(contest.transports, pointers(transports()),
                             [](const auto& name) { return &find_transport(name); });
    const auto libraries = chosen(contest.baselines, pointers(baselines()),
                                  [](const auto& name) { return &find_baseline(name); });
    std::vector<Candidate> all;
    for (const Algorithm* row : ours)
        for (const TransportRow* way : ways)
            all.push_back({"tutti", std::string(row->name), std::string(way->name), row, nullptr});
    for (const Baseline* row : libraries)
        all.push_back({std::string(row->name), "", "", nullptr, row});
    return all;
}

std::optional<std::string> refusal(Communicator& communicator, const Candidate& candidate,
                                   const Call& call, const Placement& placement) {
    if (!candidate.is_ours()) {
        if (const auto missing = candidate.baseline->missing()) return missing;
        return candidate.baseline->refuses(communicator.world(), call);
    }
    if (const auto no_way = communicator.refuses(candidate.transport)) return no_way;
    return candidate.row->refuses({.collective = call.collective,
                                   .ranks = communicator.world().size(),
                                   .root = call.root,
                                   .placement = placement});
}

}  // namespace tutti
