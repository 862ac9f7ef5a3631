// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/moe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rounding.hpp"
#include "workloads/models/unit_times.hpp"
#include "workloads/scenarios/pattern_settings.hpp"

namespace tutti {
namespace {

using Phase = Task::Phase;

bool is_of_expert(const Parameter& parameter) {
    return parameter.name.find(".experts.") != std::string::npos;
}

// What of a unit is experts': weights, and the part of the work.
struct UnitParts {
    std::int64_t dense = 0;
    std::int64_t expert = 0;  // of one
    double expert_work = 0;
};

std::vector<UnitParts> parts_of(const Model& model) {
    std::vector<UnitParts> parts(static_cast<std::size_t>(model.units()));
    std::vector<double> flops(parts.size());
    for (const Parameter& parameter : model.parameters) {
        const auto unit = static_cast<std::size_t>(parameter.unit);
        flops[unit] += parameter.forward_flops;
        if (is_of_expert(parameter)) {
            parts[unit].expert += parameter.count();
            parts[unit].expert_work += parameter.forward_flops;
        } else {
            parts[unit].dense += parameter.count();
        }
    }
    for (std::size_t unit = 0; unit < parts.size(); ++unit) {
        parts[unit].expert /= model.transformer->experts;
        if (flops[unit] > 0) parts[unit].expert_work /= flops[unit];
    }
    return parts;
}

class Writer {
public:
    Writer(const Model& model, const MoeShape& shape, int ranks)
        : shape_(shape),
          grid_(grid_of(ranks, shape.expert_ranks, "expert-ranks")),
          parts_(parts_of(model)),
          hidden_(model.transformer->hidden),
          experts_(shape.routing.experts),
          result_{.program = empty_program(model, ranks)} {
        for (int block = 0; block < grid_.blocks; ++block)
            expert_group_.push_back(program().add_group(grid_.block(block)));
        for (int place = 0; place < grid_.inner && grid_.blocks > 1; ++place)
            replica_group_.push_back(program().add_group(grid_.across(place)));
        dense_group_ = program().add_group(every_rank_of(ranks));
    }

    MoeProgram write(const std::vector<UnitTimes>& times) && {
        const int last = static_cast<int>(times.size()) - 1;
        for (int unit = 1; unit < last; ++unit) loads_.push_back(loads_of(unit));
        compute(times.front().forward_ns, Phase::forward);
        for (int unit = 1; unit < last; ++unit)
            layer(unit, times[static_cast<std::size_t>(unit)].forward_ns, Phase::forward);
        compute(times.back().forward_ns + times.back().backward_ns, Phase::backward);
        average(last);
        for (int unit = last - 1; unit > 0; --unit) {
            layer(unit, times[static_cast<std::size_t>(unit)].backward_ns, Phase::backward);
            average(unit);
        }
        compute(times.front().backward_ns, Phase::backward);
        average(0);
        for (const auto& [rank, call] : averages_) program().wait(rank, call, Phase::optimizer);
        sum_up();
        return std::move(result_);
    }

private:
    Program& program() { return result_.program; }
    int first_expert(int place) const { return static_cast<int>(experts_ * place / grid_.inner); }
    std::int64_t most_experts() const { return divide_up(experts_, grid_.inner); }

    void compute(std::int64_t ns, Phase phase) {
        for (const Rank rank : every_rank_of(grid_.ranks())) program().compute(rank, ns, phase);
    }

    // How many times the mean of tokens each rank's experts get.
    std::vector<double> loads_of(int unit) {
        const MoeRouting& routing = shape_.routing;
        std::vector<double> loads(static_cast<std::size_t>(grid_.ranks()));
        for (const Rank rank : every_rank_of(grid_.ranks())) {
            const RoutedTokens routed = route(routing, unit, rank.index);
            dropped_ += routed.dropped;
            const int block = rank.index / grid_.inner;
            for (int place = 0; place < grid_.inner; ++place)
                for (int expert = first_expert(place); expert < first_expert(place + 1); ++expert) {
                    const auto kept = routed.kept[static_cast<std::size_t>(expert)];
                    kept_ += kept;
                    loads[static_cast<std::size_t>(block * grid_.inner + place)] +=
                        static_cast<double>(kept);
                }
        }
        for (double& load : loads)
            load /= static_cast<double>(routing.tokens * routing.experts_per_token);
        return loads;
    }

    void exchange(const std::string& label, int block, DataType type, std::int64_t count,
                  int memory, Phase phase) {
        const int call = program().add_call(
            {.label = label,
             .group = expert_group_[static_cast<std::size_t>(block)],
             .call = {.collective = Collective::all_to_all, .type = type, .count = count},
             .memory = 2 * block + memory});
        for (const Rank rank : grid_.block(block)) program().meet(rank, call, phase);
    }

    // Attention and the choice of experts, then the experts; in backward the other way round.
    void layer(int unit, std::int64_t ns, Phase phase) {
        const auto& loads = loads_[static_cast<std::size_t>(unit - 1)];
        const auto of_experts = static_cast<std::int64_t>(
            parts_[static_cast<std::size_t>(unit)].expert_work * static_cast<double>(ns));
        const std::int64_t places = most_experts() * capacity_of(shape_.routing);
        if (phase == Phase::forward) compute(ns - of_experts, phase);
        for (int block = 0; block < grid_.blocks; ++block) {
            if (phase == Phase::forward)
                exchange(fmt::format("counts {}", unit), block, DataType::int64, most_experts(), 0,
                         phase);
            exchange(fmt::format("dispatch {}", unit), block, shape_.type, places * hidden_, 1,
                     phase);
            for (const Rank rank : grid_.block(block))
                program().compute(rank,
                                  std::llround(loads[static_cast<std::size_t>(rank.index)] *
                                               static_cast<double>(of_experts)),
                                  phase);
            exchange(fmt::format("combine {}", unit), block, shape_.type, places * hidden_, 1,
                     phase);
        }
        if (phase == Phase::backward) compute(ns - of_experts, phase);
    }

    void average(const std::string& label, int group, std::int64_t count) {
        if (count == 0) return;
        const int call = program().add_call({.label = label,
                                             .group = group,
                                             .call = {.collective = Collective::all_reduce,
                                                      .type = shape_.type,
                                                      .op = Op::avg,
                                                      .count = count},
                                             .in_place = true});
        for (const Rank rank : program().groups[static_cast<std::size_t>(group)]) {
            program().start(rank, call, Phase::backward);
            averages_.emplace_back(rank, call);
        }
    }

    void average(int unit) {
        const UnitParts& part = parts_[static_cast<std::size_t>(unit)];
        average(fmt::format("dense gradients {}", unit), dense_group_, part.dense);
        for (int place = 0; place < std::ssize(replica_group_); ++place)
            average(fmt::format("gradients of experts {}", unit),
                    replica_group_[static_cast<std::size_t>(place)],
                    part.expert * (first_expert(place + 1) - first_expert(place)));
    }

    void sum_up() {
        const auto chosen = static_cast<double>(kept_ + dropped_);
        const double places = static_cast<double>(std::ssize(loads_)) *
                              static_cast<double>(grid_.ranks() * grid_.inner * most_experts() *
                                                  capacity_of(shape_.routing));
        result_.dropped_share = static_cast<double>(dropped_) / chosen;
        result_.padding_share = 1 - static_cast<double>(kept_) / places;
        std::vector<std::int64_t> ns;
        for (const Rank rank : every_rank_of(grid_.ranks()))
            ns.push_back(compute_ns_of_step(program(), rank, 0));
        const auto all = std::accumulate(ns.begin(), ns.end(), std::int64_t{0});
        if (all > 0)
            result_.imbalance = static_cast<double>(std::ranges::max(ns)) * grid_.ranks() /
                                static_cast<double>(all);
    }

    const MoeShape& shape_;
    RankGrid grid_;
    std::vector<UnitParts> parts_;
    std::int64_t hidden_;
    std::int64_t experts_;
    MoeProgram result_;
    std::vector<int> expert_group_, replica_group_;
    int dense_group_ = 0;
    std::vector<std::vector<double>> loads_;  // by layer and rank
    std::vector<std::pair<Rank, int>> averages_;
    std::int64_t kept_ = 0, dropped_ = 0;
};

}  // namespace

MoeProgram moe_program(const Model& model, const MoeShape& shape, std::int64_t compute_ns,
                       int ranks) {
    return Writer(model, shape, ranks).write(unit_times(model, compute_ns));
}

}  // namespace tutti
