// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/candidates.hpp"

#include <algorithm>
#include <set>

#include "base/name_table.hpp"
#include "collectives/schedule/fingerprint.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

// Returns the rows that `names` select, each once and in the order of `all`. `selects` tells
// whether a word selects a row that it does not name. `find` throws for unknown names, even next to
// "all".
template <class Row, class Find, class Selects>
std::vector<const Row*> chosen(const std::vector<std::string>& names, std::vector<const Row*> all,
                               Find&& find, Selects&& selects) {
    std::set<const Row*> wanted;
    for (const auto& name : names) {
        const auto is_meant = [&](const Row* row) { return selects(*row, name); };
        if (std::ranges::any_of(all, is_meant))
            std::ranges::copy_if(all, std::inserter(wanted, wanted.end()), is_meant);
        else if (name != "all" && name != "none")
            wanted.insert(find(name));
    }
    std::erase_if(all, [&](const Row* row) { return !wanted.contains(row); });
    return all;
}

template <class Row>
std::vector<const Row*> pointers(std::span<const Row> rows) {
    std::vector<const Row*> all;
    for (const Row& row : rows) all.push_back(&row);
    return all;
}

// Splits "mpi/ring" in two.
struct LibraryName {
    std::string library, algorithm;
};

LibraryName parted(const std::string& name) {
    const auto slash = name.find('/');
    if (slash == name.npos) return {name, ""};
    return {name.substr(0, slash), name.substr(slash + 1)};
}

// Lists the library's own choice first, then its algorithms in its own order.
std::vector<std::string> algorithms_chosen(const Baseline& row, Collective collective,
                                           const std::vector<std::string>& names) {
    auto known = row.algorithms(collective);
    const bool has_names = !known.empty();
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
        if (has_names)
            throw Error(unknown_name("algorithm of " + std::string(row.name) + " for " +
                                         std::string(name_of(collective)),
                                     name, known));
        known.push_back(name);  // it is skipped later with a reason
    }
    known.insert(known.begin(), "");
    std::erase_if(known, [&](const auto& name) { return !wanted.contains(name); });
    return known;
}

void add_once(std::vector<std::int64_t>& values, std::int64_t value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

// Returns each value once, in the order given; only the default if the algorithm does not use the
// knob.
std::vector<std::int64_t> values_for(const Algorithm& row, const Knob& knob,
                                     const SearchSpace& search_space) {
    if (!makes_use(row, knob)) return {knob.default_value};
    std::vector<std::int64_t> values;
    for (const std::int64_t wanted : search_space.values_of(knob))
        add_once(values, wanted == knob.same_as_default ? knob.default_value : wanted);
    return values;
}

// Returns the library's own value first, as its number if `names_own_values`, else as the default.
// The others of the list follow.
std::vector<std::int64_t> values_for(const Baseline& row, Collective collective,
                                     const std::string& algorithm, const Knob& knob,
                                     const SearchSpace& search_space) {
    const auto own = row.own_value(collective, algorithm, knob);
    const bool is_named =
        search_space.names_own_values && own && *own >= knob.least && *own <= knob.most;
    std::vector<std::int64_t> values{is_named ? *own : knob.default_value};
    if (own)
        for (const std::int64_t wanted : search_space.values_of(knob))
            add_once(values,
                     wanted == *own || wanted == knob.default_value ? values.front() : wanted);
    return values;
}

// Replaces each variant by one for each value of each knob.
template <class Values>
void vary(std::vector<Configuration>& variants, Values&& values_of) {
    for (const Knob& knob : knobs) {
        std::vector<Configuration> finer;
        for (const Configuration& variant : variants)
            for (const std::int64_t value : values_of(knob))
                knob.set(finer.emplace_back(variant), value);
        variants = std::move(finer);
    }
}

// Adds the algorithm over the transport in every order and with every combination of its knobs.
void add_variants(const Algorithm& row, std::string_view transport, const SearchSpace& search_space,
                  std::vector<Candidate>& all) {
    std::vector<Configuration> variants;
    for (const auto& order : search_space.orders)
        variants.push_back({.algorithm = std::string(row.name),
                            .transport = std::string(transport),
                            .order = order == "naive" ? "" : order});
    vary(variants, [&](const Knob& knob) { return values_for(row, knob, search_space); });
    for (const Configuration& variant : variants) all.push_back({variant, &row});
}

// Adds a library's own choice, or one of its algorithms with every combination of its parameters.
void add_variants(const Baseline& row, const std::string& algorithm, Collective collective,
                  const SearchSpace& search_space, std::vector<Candidate>& all) {
    std::vector<Configuration> variants{{.impl = std::string(row.name), .algorithm = algorithm}};
    vary(variants, [&](const Knob& knob) {
        return values_for(row, collective, algorithm, knob, search_space);
    });
    for (const Configuration& variant : variants)
        if (!search_space.allows || search_space.allows(collective, variant))
            all.push_back({variant, nullptr, &row});
}

}  // namespace

std::string Candidate::name() const {
    return chooser ? configuration.algorithm : to_string(configuration);
}

std::vector<std::int64_t> SearchSpace::values_of(const Knob& knob) const {
    const auto named = knobs.find(knob.name);
    return named == knobs.end() ? std::vector{knob.default_value} : named->second;
}

Candidate candidate_of(Collective collective, const Configuration& configuration) {
    if (configuration.is_ours())
        return {configuration, &find_algorithm(collective, configuration.algorithm)};
    return {configuration, nullptr, &find_baseline(configuration.impl)};
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
        [](const Algorithm& row, const auto& word) { return row.selected_by(word); });
    const auto over = chosen(
        search_space.transports, pointers(transports()),
        [](const auto& name) { return &find_transport(name); },
        [](const TransportRow& row, const auto& word) { return word == "all" && !row.is_part; });
    const auto libraries = chosen(
        search_space.baselines, pointers(baselines()),
        [](const auto& name) { return &find_baseline(parted(name).library); },
        [](const Baseline& row, const auto& word) { return word == "all" && row.is_default; });
    std::vector<Candidate> all;
    for (const Algorithm* row : ours)
        for (const TransportRow* transport : over)
            add_variants(*row, transport->name, search_space, all);
    for (const Baseline* row : libraries)
        for (const auto& algorithm : algorithms_chosen(*row, collective, search_space.baselines))
            add_variants(*row, algorithm, collective, search_space, all);
    return all;
}

namespace {

// Identifies what a candidate does for a call: equal if two candidates do the same.
struct PlanSignature {
    Configuration of_library;  // or transport, schedule and lanes of tutti's plan
    std::string transport = {};
    std::uint64_t schedule = 0;
    Lanes lanes = {};
    auto operator<=>(const PlanSignature&) const = default;
};

// A library does not cut messages that fit into a segment, and has at most as many branches as
// there are other ranks.
PlanSignature signature_of_library(const Candidate& candidate, const Call& call, int ranks) {
    Configuration same = candidate.configuration;
    for (const Knob& knob : knobs)
        if (knob.of(same) == knob.default_value)
            if (const auto own =
                    candidate.baseline->own_value(call.collective, same.algorithm, knob))
                knob.set(same, *own);
    const std::int64_t vector = call.count * static_cast<std::int64_t>(size_of(call.type));
    if (same.segment.count >= vector) same.segment = {};
    same.radix = std::min(same.radix, ranks - 1);
    return {same};
}

std::optional<PlanSignature> signature_of(const Candidate& candidate, const Call& call,
                                          const Environment& environment) {
    if (candidate.baseline != nullptr)
        return signature_of_library(candidate, call, environment.ranks);
    if (!candidate.is_ours()) return std::nullopt;
    const Job job = job_of({candidate.row, candidate.configuration, environment}, call,
                           environment.ranks, environment.hosts);
    if (candidate.row->refuses(job)) return std::nullopt;
    const Schedule schedule = build_in_order(*candidate.row, job);
    const auto print = fingerprint(schedule);
    if (!print) return std::nullopt;
    const Lanes lanes = lanes_for(*candidate.row, job, schedule);
    return PlanSignature{
        {}, candidate.configuration.transport, *print, lanes.count > 1 ? lanes : Lanes{}};
}

}  // namespace

std::vector<Candidate> distinct(std::vector<Candidate> candidates, const Call& call,
                                const Environment& environment) {
    std::set<PlanSignature> seen;
    std::erase_if(candidates, [&](const Candidate& candidate) {
        const auto signature = signature_of(candidate, call, environment);
        return signature && !seen.insert(*signature).second;
    });
    return candidates;
}

std::optional<std::string> refusal(Planner& planner, const Candidate& candidate, const Call& call,
                                   const PooledBuffers& buffers, const Placement& placement) {
    if (!candidate.chooser)
        return refusal(planner, candidate.configuration, {call, buffers.call, buffers.registered},
                       placement);
    if (buffers.call.device == nullptr) return std::nullopt;
    if (candidate.on_devices) return candidate.on_devices->refuses(planner, call, buffers);
    return candidate.name() + " takes no buffers on devices; use --buffers registered";
}

ChosenOperation operation_of(Planner& planner, const Candidate& candidate, const Call& call,
                             const PooledBuffers& buffers, const Environment& environment) {
    if (candidate.on_devices && buffers.call.device != nullptr)
        return candidate.on_devices->operation(planner, call, buffers);
    if (candidate.chooser) return candidate.chooser(call, buffers);
    ChosenOperation made{make_operation(planner, candidate.configuration,
                                        {call, buffers.call, buffers.registered}, environment)};
    if (candidate.baseline != nullptr && candidate.baseline->choice_of != nullptr)
        made.choice = [choice_of = candidate.baseline->choice_of,
                       operation = made.operation.get()] { return choice_of(*operation); };
    return made;
}

Trial trial_of(Operation& operation, const World& world, const Call& call,
               const PooledBuffers& buffers, bool check) {
    Trial trial{.operation = &operation, .prepare = {}, .count_wrong = {}};
    trial.keeps_input = !buffers.call.in_place;
    if (!check) return trial;
    const Rank me = world.rank();
    const int ranks = world.size();
    trial.prepare = [=](std::uint64_t seed) {
        const CheckCase now = check_of(call, ranks, seed);
        buffers.write_output([](std::span<std::byte> output) { poison(output); });
        buffers.write_input([&](std::span<std::byte> input) { fill_input(now, me, input); });
    };
    trial.count_wrong = [=](std::uint64_t seed) {
        const CheckCase now = check_of(call, ranks, seed);
        return buffers.count_in_output(
            [&](std::span<const std::byte> output) { return count_wrong(now, me, output); });
    };
    return trial;
}

}  // namespace tutti
