// SPDX-License-Identifier: Apache-2.0
#include "workloads/candidates.hpp"

#include <algorithm>

namespace tutti {
namespace {

bool asks_for_all(const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "all") != names.end();
}

std::vector<const Algorithm*> chosen_algorithms(Collective collective,
                                                const std::vector<std::string>& names) {
    if (asks_for_all(names)) return algorithms_of(collective);
    std::vector<const Algorithm*> chosen;
    for (const auto& name : names)
        if (name != "none") chosen.push_back(&find_algorithm(collective, name));
    return chosen;
}

std::vector<const TransportRow*> chosen_transports(const std::vector<std::string>& names) {
    std::vector<const TransportRow*> chosen;
    if (asks_for_all(names))
        for (const TransportRow& row : transports()) chosen.push_back(&row);
    else
        for (const auto& name : names) chosen.push_back(&find_transport(name));
    return chosen;
}

std::vector<const Baseline*> chosen_baselines(const std::vector<std::string>& names) {
    std::vector<const Baseline*> chosen;
    if (asks_for_all(names))
        for (const Baseline& row : baselines()) chosen.push_back(&row);
    else
        for (const auto& name : names)
            if (name != "none") chosen.push_back(&find_baseline(name));
    return chosen;
}

}  // namespace

std::string Candidate::name() const { return is_ours() ? algorithm + "/" + transport : impl; }

std::vector<Candidate> candidates(Collective collective, const Contest& contest) {
    std::vector<Candidate> all;
    const auto ways = chosen_transports(contest.transports);
    for (const Algorithm* row : chosen_algorithms(collective, contest.algorithms))
        for (const TransportRow* way : ways)
            all.push_back({"tutti", std::string(row->name), std::string(way->name), row, nullptr});
    for (const Baseline* row : chosen_baselines(contest.baselines))
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
