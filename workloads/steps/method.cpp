// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/method.hpp"

#include <algorithm>
#include <map>

#include "base/name_table.hpp"
#include "collectives/schedule/verify.hpp"

namespace tutti {
namespace {

// Returns the algorithm of a collective that lacks the wanted one.
std::string fallback_for(Collective collective) {
    const Algorithm* ring = algorithm_called(collective, "ring");
    return std::string((ring != nullptr ? ring : algorithms_of(collective).front())->name);
}

class ByName final : public GroupMethod {
public:
    ByName(SearchSpace search_space, Planner& group, const Environment& environment)
        : search_space_(std::move(search_space)), group_(group), environment_(environment) {}

    bool is_for(Collective collective) const override {
        const auto& name = search_space_.algorithms.front();
        return name == "none" || algorithm_called(collective, name) != nullptr;
    }
    bool blocks() const override {
        return search_space_.algorithms.front() == "none" &&
               find_baseline(search_space_.baselines.front()).blocks;
    }
    std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) override {
        if (call.collective == Collective::barrier) choose_barrier(call, buffers);
        return refusal(group_, of(call.collective), call, buffers, environment_.hosts);
    }
    std::unique_ptr<Operation> operation(const Call& call, const PooledBuffers& buffers) override {
        return operation_of(group_, of(call.collective), call, buffers, environment_).operation;
    }
    std::optional<bool> same_bits(const Call& call) override {
        const Candidate& candidate = of(call.collective);
        if (!candidate.is_ours()) return std::nullopt;
        const Job job = job_of({candidate.row, candidate.configuration, environment_}, call,
                               environment_.ranks, environment_.hosts);
        return prove(build_in_order(*candidate.row, job),
                     CollectiveSpec{call.collective, environment_.ranks, call.root})
            .same_order_everywhere;
    }

private:
    // A library without a barrier (NCCL) leaves it to an algorithm of tutti's that runs here.
    void choose_barrier(const Call& call, const PooledBuffers& buffers) {
        const auto is_refused = [&](const Candidate& candidate) {
            return refusal(group_, candidate, call, buffers, environment_.hosts).has_value();
        };
        const Candidate& wanted = of(call.collective);
        if (wanted.is_ours() || !is_refused(wanted)) return;
        for (const Candidate& own : candidates(call.collective, {.baselines = {"none"}}))
            if (!is_refused(own)) {
                candidates_.insert_or_assign(call.collective, own);
                return;
            }
    }

    const Candidate& of(Collective collective) {
        const auto known = candidates_.find(collective);
        if (known != candidates_.end()) return known->second;
        SearchSpace search_space = search_space_;
        if (!is_for(collective)) search_space.algorithms = {fallback_for(collective)};
        return candidates_.emplace(collective, candidates(collective, search_space).front())
            .first->second;
    }

    SearchSpace search_space_;  // one algorithm or one library
    Planner& group_;
    const Environment& environment_;
    std::map<Collective, Candidate> candidates_;
};

Method method_by(std::string name, const SearchSpace& search_space) {
    const std::string& over = search_space.transports.front();
    return {.name = std::move(name),
            .of_group =
                [search_space](Planner& group, const Environment& environment) {
                    return std::make_unique<ByName>(search_space, group, environment);
                },
            .transport = over == "none" ? "" : over};
}

// Returns the algorithms of all collectives for which `is_wanted` is true, each once.
template <class IsWanted>
std::vector<std::string> algorithms_that(IsWanted&& is_wanted) {
    std::vector<std::string> names;
    for (const Collective collective : all_collectives())
        for (const Algorithm* row : algorithms_of(collective))
            if (is_wanted(*row) && std::ranges::find(names, row->name) == names.end())
                names.emplace_back(row->name);
    return names;
}

std::vector<std::string> algorithms_in(const SearchSpace& search_space) {
    const auto known = algorithms_that([](const Algorithm&) { return true; });
    std::vector<std::string> names;
    for (const auto& name : search_space.algorithms) {
        if (name == "all" || name == "all+")
            return algorithms_that([&](const Algorithm& row) { return row.selected_by(name); });
        if (name == "none") continue;
        if (std::ranges::find(known, name) == known.end())
            throw Error(unknown_name("algorithm", name, known));
        names.push_back(name);
    }
    return names;
}

}  // namespace

std::optional<std::string> first_refusal(World& world, const std::optional<std::string>& mine) {
    for (std::string& of_rank : gather_all_texts(world, mine.value_or("")))
        if (!of_rank.empty()) return std::move(of_rank);
    return std::nullopt;
}

std::vector<Method> methods_named(const SearchSpace& search_space) {
    std::vector<Method> methods;
    std::vector<std::string> over;
    for (const TransportRow& row : transports()) {
        const auto is = [&](const auto& name) {
            return name == row.name || (name == "all" && !row.is_part);
        };
        if (std::ranges::any_of(search_space.transports, is)) over.emplace_back(row.name);
    }
    for (const auto& name : search_space.transports)
        if (name != "all" && name != "none") find_transport(name);  // throws for unknown ones
    for (const auto& algorithm : algorithms_in(search_space))
        for (const auto& transport : over)
            methods.push_back(method_by(
                algorithm + "/" + transport,
                {.algorithms = {algorithm}, .transports = {transport}, .baselines = {"none"}}));
    for (const Baseline& row : baselines()) {
        const auto is = [&](const auto& name) {
            return name == row.name || (name == "all" && row.is_default);
        };
        if (std::ranges::any_of(search_space.baselines, is))
            methods.push_back(
                method_by(std::string(row.name), {.algorithms = {"none"},
                                                  .transports = {"none"},
                                                  .baselines = {std::string(row.name)}}));
    }
    for (const auto& name : search_space.baselines)
        if (name != "all" && name != "none") find_baseline(name);  // throws for unknown ones
    return methods;
}

}  // namespace tutti
