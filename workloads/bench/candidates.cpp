// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/candidates.hpp"

#include <algorithm>
#include <set>

#include "base/name_table.hpp"
#include "collectives/schedule/fingerprint.hpp"
#include "results/key.hpp"

namespace tutti {
namespace {

bool asks_for_all(const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "all") != names.end();
}

// The rows that `names` say, each once and in the order of `all`. "all" are those of which
// `is_default` holds. `find` throws for unknown names, also beside "all".
template <class Row, class Find, class IsUsual>
std::vector<const Row*> chosen(const std::vector<std::string>& names, std::vector<const Row*> all,
                               Find&& find, IsUsual&& is_default) {
    std::set<const Row*> wanted;
    for (const auto& name : names)
        if (name != "all" && name != "none") wanted.insert(find(name));
    std::erase_if(all, [&](const Row* row) {
        return !wanted.contains(row) && !(asks_for_all(names) && is_default(*row));
    });
    return all;
}

template <class Row>
std::vector<const Row*> pointers(std::span<const Row> rows) {
    std::vector<const Row*> all;
    for (const Row& row : rows) all.push_back(&row);
    return all;
}

// "mpi/ring" in two.
struct LibraryName {
    std::string library, algorithm;
};

LibraryName parted(const std::string& name) {
    const auto slash = name.find('/');
    if (slash == name.npos) return {name, ""};
    return {name.substr(0, slash), name.substr(slash + 1)};
}

// The library by its own choice first, then its algorithms in its own order.
std::vector<std::string> algorithms_chosen(const Baseline& row, Collective collective,
                                           const std::vector<std::string>& names) {
    auto known = row.algorithms(collective);
    const bool tells_names = !known.empty();
    std::set<std::string> wanted;
    for (const auto& name : names) {
        const auto [library, algorithm] = parted(name);
        if (library == "all") wanted.insert("");
        if (library != row.name) continue;
        wanted.insert(algorithm == "all" ? "" : algorithm);
        if (algorithm == "all") wanted.insert(known.begin(), known.end());
    }
    for (const auto& name : wanted) {
        if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
        if (tells_names)
            throw Error(unknown_name("algorithm of " + std::string(row.name) + " for " +
                                         std::string(name_of(collective)),
                                     name, known));
        known.push_back(name);  // a reason will be given why it cannot run
    }
    known.insert(known.begin(), "");
    std::erase_if(known, [&](const auto& name) { return !wanted.contains(name); });
    return known;
}

// Each once, in the order given; one alone where the algorithm makes no use of them.
template <class Value>
std::vector<Value> values_for(bool makes_use, const std::vector<Value>& wanted, Value usual) {
    if (!makes_use) return {usual};
    std::vector<Value> values;
    for (const Value& value : wanted)
        if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    return values;
}

// The algorithm in every order and with all its parameters.
void add_variants(const Candidate& plain, const SearchSpace& search_space,
                  std::vector<Candidate>& all) {
    std::vector<int> radices = search_space.radices;
    std::ranges::replace(radices, default_radix, 0);
    for (const auto& order : search_space.orders)
        for (const Bytes segment : values_for(plain.row->pipelines, search_space.segments, Bytes{}))
            for (const int radix : values_for(plain.row->takes_radix, radices, 0))
                for (const int channels : values_for(true, search_space.channels, 1)) {
                    Candidate& variant = all.emplace_back(plain);
                    variant.order = order == "naive" ? "" : order;
                    variant.segment = segment;
                    variant.radix = radix;
                    variant.channels = channels;
                }
}

}  // namespace

std::string Candidate::name() const {
    if (chooser) return algorithm;
    if (!is_ours()) return algorithm.empty() ? impl : impl + "/" + algorithm;
    return variant_name(algorithm, segment, radix, channels, order) + "/" + transport;
}

Choice choice_of(const Candidate& candidate, Bytes default_segment) {
    return {.algorithm = candidate.row,
            .transport = candidate.transport,
            .segment = candidate.segment.count > 0 ? candidate.segment : default_segment,
            .radix = candidate.radix,
            .channels = candidate.channels};
}

void before_start(const SearchSpace& search_space) {
    for (const auto& name : search_space.baselines)
        if (const auto [library, algorithm] = parted(name); !algorithm.empty())
            find_baseline(library).before_start();
}

std::vector<Candidate> candidates(Collective collective, const SearchSpace& search_space) {
    const auto ours = chosen(
        search_space.algorithms, algorithms_of(collective),
        [&](const auto& name) { return &find_algorithm(collective, name); },
        [](const Algorithm&) { return true; });
    const auto ways = chosen(
        search_space.transports, pointers(transports()),
        [](const auto& name) { return &find_transport(name); },
        [](const TransportRow& row) { return !row.is_part; });
    const auto libraries = chosen(
        search_space.baselines, pointers(baselines()),
        [](const auto& name) { return &find_baseline(parted(name).library); },
        [](const Baseline& row) { return row.is_default; });
    std::vector<Candidate> all;
    for (const Algorithm* row : ours)
        for (const TransportRow* way : ways)
            add_variants({.impl = "tutti",
                          .algorithm = std::string(row->name),
                          .transport = std::string(way->name),
                          .row = row},
                         search_space, all);
    for (const Baseline* row : libraries)
        for (const auto& algorithm : algorithms_chosen(*row, collective, search_space.baselines))
            all.push_back(
                {.impl = std::string(row->name), .algorithm = algorithm, .baseline = row});
    return all;
}

namespace {

// What a candidate does for a call: equal if two do the same.
struct PlanSignature {
    std::string transport;
    std::uint64_t schedule;
    Lanes lanes;
    auto operator<=>(const PlanSignature&) const = default;
};

std::optional<PlanSignature> deed_of(const Candidate& candidate, const Call& call,
                                     const Environment& environment) {
    if (!candidate.is_ours()) return std::nullopt;
    Choice choice = choice_of(candidate, environment.default_segment);
    if (!candidate.order.empty()) choice.order = environment.orders.at(candidate.order);
    const Job job = job_of(choice, call, environment.ranks, environment.hosts);
    if (candidate.row->refuses(job)) return std::nullopt;
    const Schedule schedule = build_in_order(*candidate.row, job);
    const auto print = fingerprint(schedule);
    if (!print) return std::nullopt;
    const Lanes lanes = lanes_for(*candidate.row, job, schedule);
    return PlanSignature{candidate.transport, *print, lanes.count > 1 ? lanes : Lanes{}};
}

}  // namespace

std::vector<Candidate> distinct(std::vector<Candidate> candidates, const Call& call,
                                const Environment& environment) {
    std::set<PlanSignature> done;
    std::erase_if(candidates, [&](const Candidate& candidate) {
        const auto deed = deed_of(candidate, call, environment);
        return deed && !done.insert(*deed).second;
    });
    return candidates;
}

std::optional<std::string> refusal(Planner& planner, const Candidate& candidate, const Call& call,
                                   const PooledBuffers& buffers, const Placement& placement) {
    const MemoryOf memory = memory_of(buffers.call);
    if (!candidate.is_ours()) {
        if (candidate.baseline != nullptr)
            if (auto reason = refusal(planner.world(), *candidate.baseline,
                                      {call, candidate.algorithm, buffers.call.in_place, memory}))
                return reason;
        if (memory == MemoryOf::device && candidate.on_devices)
            return candidate.on_devices->refuses(planner, call, buffers);
        const bool takes_device = candidate.baseline != nullptr && candidate.baseline->takes_device;
        if (memory == MemoryOf::host || takes_device) return std::nullopt;
        return (candidate.chooser ? candidate.algorithm : candidate.impl) +
               " takes no buffers on devices; type --buffers registered";
    }
    if (const auto no_way = planner.refuses(candidate.transport, memory, buffers.registered))
        return no_way;
    return candidate.row->refuses({.collective = call.collective,
                                   .ranks = planner.world().size(),
                                   .root = call.root,
                                   .placement = placement});
}

}  // namespace tutti
